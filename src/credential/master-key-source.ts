// Where master keys come from: a file, a variable, what a command prints, or this process alone.
import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { withLockFile } from '../util/lock-file.ts'
import { makeSecretFile, readSecretFile, replaceSecretFile } from '../util/secret-file.ts'
import type { World } from '../util/world.ts'
import {
  MAX_KEYS,
  type MasterKeySource,
  MasterKeyUnavailable,
  masterKeyOf,
  readMasterKeys,
} from './master-key.ts'
import { KEY_BYTES } from './seal.ts'

/**
 * 32 bytes; or `file:PATH`, `env:NAME`, `command:PROGRAM ARG…`; or a file that is made where there is none.
 */
export type MasterKeyChoice = Uint8Array | string | { readonly file: string; readonly make?: boolean }

export interface SourceOptions {
  readonly world: Pick<World, 'secret' | 'clock'>
  readonly env: Readonly<Record<string, string | undefined>>
  /** What paths are relative to. */
  readonly folder: string
}

/** Throws `MasterKeyUnavailable` for a choice that is none. */
export function masterKeySource(choice: MasterKeyChoice, options: SourceOptions): MasterKeySource {
  if (choice instanceof Uint8Array) return givenSource(choice, options.world)
  if (typeof choice !== 'string')
    return fileSource(resolve(options.folder, choice.file), choice.make === true, options.world)
  const [, scheme = '', rest = ''] = /^(file|env|command):(.+)$/s.exec(choice) ?? []
  if (scheme === 'file') return fileSource(resolve(options.folder, rest), false, options.world)
  if (scheme === 'env') return variableSource(rest, options.env)
  if (scheme === 'command') return commandSource(rest, options)
  throw new MasterKeyUnavailable(
    'master_key names no place that is known. Fix: write file:PATH, env:NAME or command:PROGRAM ARG',
  )
}

/** Ends with the process, and so does what it has sealed. */
export function passingSource(world: Pick<World, 'secret'>): MasterKeySource {
  return givenSource(Buffer.from(world.secret(KEY_BYTES), 'base64url'), world, PASSING)
}

const PASSING = 'this process'

function givenSource(
  bytes: Uint8Array,
  world: Pick<World, 'secret'>,
  where = 'the program',
): MasterKeySource {
  if (bytes.byteLength !== KEY_BYTES)
    throw new MasterKeyUnavailable(
      `the master key of ${where} has ${bytes.byteLength} bytes. Fix: use ${KEY_BYTES} random ones`,
    )
  const own = [masterKeyOf(bytes)] as [ReturnType<typeof masterKeyOf>]
  return {
    where,
    stamp: () => String(own.length),
    read: async () => own,
    async add() {
      // Beside a key that a program hands in, one that only this process knows would be lost with it.
      if (where !== PASSING) return false
      own.unshift(masterKeyOf(Buffer.from(world.secret(KEY_BYTES), 'base64url')))
      return true
    },
  }
}

const WHAT = 'the master key'

function fileSource(path: string, make: boolean, world: SourceOptions['world']): MasterKeySource {
  const where = `file ${path}`
  const newLine = () => `${Buffer.from(world.secret(KEY_BYTES), 'base64url').toString('base64')}\n`

  function text(): string {
    const found = failing(where, () => readSecretFile(path, WHAT))
    if (found !== undefined) return found
    if (!make)
      throw new MasterKeyUnavailable(
        `${WHAT} ${path} is not there. Fix: put it back; for a first one: (umask 077; openssl rand -base64 32 > '${path}')`,
      )
    failing(where, () => makeSecretFile(path, newLine()))
    // Where another start was faster, its key is the one.
    return failing(where, () => readSecretFile(path, WHAT)) ?? ''
  }

  function addLine(): void {
    const found = text()
    if (readMasterKeys(found, where).length >= MAX_KEYS)
      throw new MasterKeyUnavailable(
        `${WHAT} ${path} holds ${MAX_KEYS} keys. Fix: take out the oldest, which nothing is sealed with any more`,
      )
    replaceSecretFile(path, newLine() + found)
  }

  return {
    where,
    stamp() {
      const found = statSync(path, { throwIfNoEntry: false })
      return found === undefined ? '' : `${found.ino}:${found.size}:${found.mtimeMs}:${found.mode}`
    },
    read: async () => readMasterKeys(text(), where),
    async add() {
      return failing(where, () => {
        try {
          withLockFile(path, world.clock.now(), addLine)
          return true
        } catch (error) {
          // Something else puts it into place, as a mount does: whoever keeps it adds the key there.
          if (UNWRITABLE.includes(codeOf(error))) return false
          throw error
        }
      })
    },
  }
}

function variableSource(name: string, env: SourceOptions['env']): MasterKeySource {
  const where = `variable ${name}`
  return {
    where,
    stamp: () => '',
    async read() {
      const text = env[name]
      if (text === undefined || text.trim() === '')
        throw new MasterKeyUnavailable(
          `${WHAT} is missing: ${name} is not set. Fix: set ${name} before the start`,
        )
      // Several keys fit on one line there.
      return readMasterKeys(text.replaceAll(/[,\s]+/g, '\n'), where)
    },
    add: async () => false,
  }
}

const COMMAND_MS = 30_000
const COMMAND_BYTES = 16 * 1024

/** Without a shell: words are what spaces part. */
function commandSource(line: string, { env, folder }: SourceOptions): MasterKeySource {
  const [program = '', ...args] = line.trim().split(/\s+/)
  const where = `command ${program}`
  return {
    where,
    read: () =>
      new Promise((done, fail) => {
        const options = {
          cwd: folder,
          env: { PATH: env.PATH, HOME: env.HOME },
          timeout: COMMAND_MS,
          killSignal: 'SIGKILL' as const,
          maxBuffer: COMMAND_BYTES,
          encoding: 'utf8' as const,
        }
        const child = execFile(program, args, options, (error, out) => {
          // Neither what it printed nor its arguments are repeated: both may hold a secret.
          if (error !== null) return fail(commandFailed(where, error))
          try {
            done(readMasterKeys(out, where))
          } catch (failure) {
            fail(failure)
          }
        })
        child.stdin?.end()
      }),
    add: async () => false,
  }
}

function commandFailed(
  where: string,
  error: Error & { readonly code?: unknown; readonly killed?: boolean },
): MasterKeyUnavailable {
  const why =
    error.killed === true
      ? `took longer than ${COMMAND_MS} ms, or printed more than ${COMMAND_BYTES} bytes`
      : typeof error.code === 'number'
        ? `ended with ${error.code}`
        : `did not run (${String(error.code)})`
  return new MasterKeyUnavailable(
    `${WHAT} is missing: ${where} ${why}. Fix: see that it prints the keys, one to a line, and ends with 0`,
  )
}

const UNWRITABLE = ['EROFS', 'EACCES', 'EPERM']

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function failing<T>(where: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof MasterKeyUnavailable) throw error
    const why = error instanceof Error ? error.message : String(error)
    const fix = why.includes('Fix:') ? '' : '. Fix: see that it is there, and yours to read and write'
    throw new MasterKeyUnavailable(`${WHAT} in ${where} cannot be used: ${why}${fix}`)
  }
}
