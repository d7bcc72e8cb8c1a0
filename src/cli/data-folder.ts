// The files of a server beside its database: the admin token, and the note that tells commands where it listens.
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  readFileSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { codeOf } from '../util/error-code.ts'
import { isJsonObject } from '../util/json.ts'
import { makeSecretFile, readSecretFile, replaceSecretFile, SecretExposed } from '../util/secret-file.ts'
import { CliError, EXIT, messageOf } from './cli-error.ts'

export interface DataFolder {
  readonly path: string
  readonly database: string
  /** Made by the store beside its database, and never removed. */
  readonly lockFile: string
  readonly tokenFile: string
  readonly serverFile: string
  /** Sign and verify the tokens that the server issues. */
  readonly tokenKeys: string
  /** Signs checkpoints of the evidence. */
  readonly auditKey: string
  /** Wraps the keys of secrets. */
  readonly masterKey: string
  /** Signs the links in messages. */
  readonly linkKey: string
  /** The newest checkpoint, which the store is held to at the next start. */
  readonly auditHead: string
  /** The same where the store is a database elsewhere: another ledger, which is held to its own. */
  readonly databaseHead: string
}

export function dataFolderAt(cwd: string, path: string): DataFolder {
  const at = resolve(cwd, path)
  return Object.freeze({
    path: at,
    database: join(at, 'writ.db'),
    lockFile: join(at, 'writ.db.lock'),
    tokenFile: join(at, 'admin-token'),
    serverFile: join(at, 'server.json'),
    tokenKeys: join(at, 'token-keys.json'),
    auditKey: join(at, 'audit-key.pem'),
    masterKey: join(at, 'master-key'),
    linkKey: join(at, 'link-key'),
    auditHead: join(at, 'audit-head.json'),
    databaseHead: join(at, 'audit-head.database.json'),
  })
}

/** Makes the folder for its owner alone; one that is there keeps its rights, which must let this process write. */
export function makeDataFolder({ path }: DataFolder): void {
  const found = lookAt(path)
  if (found === undefined) {
    makeFolders(path)
    return
  }
  if (!found.isDirectory()) {
    throw new CliError(`the data folder ${path} is a file`, {
      exit: EXIT.startFailed,
      fix: 'choose another with --data, or move that file away',
    })
  }
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new CliError(`the data folder ${path} cannot be written: ${messageOf(error)}`, {
      exit: EXIT.startFailed,
      fix:
        codeOf(error) === 'EROFS'
          ? 'mount its disk for writing (mend it first if it became read-only by itself), or choose another with --data'
          : 'run as its owner, or choose another with --data',
    })
  }
}

/** One at a time: where a file system makes no folders, such as /proc, Node's own recursive way never ends. */
function makeFolders(path: string): void {
  const missing = [path]
  for (let at = dirname(path); isMissing(at); at = dirname(at)) missing.unshift(at)
  for (const at of missing) {
    try {
      mkdirSync(at, { mode: 0o700 })
    } catch (error) {
      // Another start was faster; the lock decides between the two.
      if (codeOf(error) === 'EEXIST') continue
      throw new CliError(`the data folder ${path} cannot be made: ${messageOf(error)}`, {
        exit: EXIT.startFailed,
        fix: `choose another with --data, or see that you can write in ${dirname(at)}`,
      })
    }
  }
  // The umask may have taken rights of the owner away.
  chmodSync(path, 0o700)
}

/** Below a file there is nothing either; making a folder there says so. */
function isMissing(path: string): boolean {
  return lookAt(path) === undefined && dirname(path) !== path
}

function lookAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw new CliError(`the data folder cannot be looked at: ${messageOf(error)}`, {
      exit: EXIT.startFailed,
      fix: 'run as its owner, or choose another with --data',
    })
  }
}

/** Rights of others on a file or folder, or undefined where there is none. */
export function rightsOfOthers(path: string): number | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? undefined : found.mode & 0o077
}

/** The token of the local admin; undefined where there is none. A file that others can read is refused: it is no secret. */
export function readAdminToken(folder: DataFolder): string | undefined {
  const token = readToken(folder.tokenFile)?.trim()
  if (token === undefined) return undefined
  if (!/^[\x21-\x7e]{32,4096}$/.test(token)) {
    throw new CliError(`${folder.tokenFile} does not hold a usable token`, {
      exit: EXIT.startFailed,
      fix: 'delete the file and start the server again: it makes a new one',
    })
  }
  return token
}

function readToken(path: string): string | undefined {
  try {
    return readSecretFile(path, 'the admin token in')
  } catch (error) {
    if (!(error instanceof SecretExposed)) throw error
    throw new CliError(`others can read or change the admin token in ${path}`, {
      exit: EXIT.startFailed,
      fix: `delete the file if someone may have read it, and start again; else run: chmod 600 '${path}'`,
    })
  }
}

/** The token that is there, or a new one. */
export function readOrMakeAdminToken(folder: DataFolder): { readonly token: string; readonly made: boolean } {
  const found = readAdminToken(folder)
  if (found !== undefined) return { token: found, made: false }
  const token = randomBytes(32).toString('base64url')
  const made = writing(folder.tokenFile, () => makeSecretFile(folder.tokenFile, `${token}\n`))
  // Where another start was faster, its token is the one.
  return made ? { token, made } : readOrMakeAdminToken(folder)
}

/** Where a server listens, for commands beside it. */
export interface ServerNote {
  readonly url: string
  readonly pid: number
  readonly started_at: string
}

export function writeServerNote(folder: DataFolder, note: ServerNote): void {
  writing(folder.serverFile, () => replaceSecretFile(folder.serverFile, `${JSON.stringify(note, null, 2)}\n`))
}

/** Undefined where there is none, or where it is not one of ours. */
export function readServerNote(folder: DataFolder): ServerNote | undefined {
  try {
    const note: unknown = JSON.parse(readFileSync(folder.serverFile, 'utf8'))
    return isServerNote(note) ? note : undefined
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw new CliError(`${folder.serverFile} cannot be read: ${messageOf(error)}`, {
      exit: EXIT.failed,
      fix: 'run as the user who started the server, or set WRIT_URL and WRIT_TOKEN',
    })
  }
}

/** By hand: every command reads this, and loading the schema library would take longer than most of them. */
function isServerNote(note: unknown): note is ServerNote {
  if (!isJsonObject(note)) return false
  const { url, pid, started_at } = note
  return (
    /^https?:\/\//.test(String(url)) &&
    Number.isInteger(pid) &&
    Number(pid) > 0 &&
    typeof started_at === 'string'
  )
}

export function removeServerNote(folder: DataFolder, pid: number): void {
  if (readServerNote(folder)?.pid === pid) rmSync(folder.serverFile, { force: true })
}

/** Whether a process with this id runs. It may be another one by now. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function writing<T>(path: string, write: () => T): T {
  try {
    return write()
  } catch (error) {
    throw new CliError(`${path} cannot be written: ${messageOf(error)}`, {
      exit: EXIT.startFailed,
      fix:
        codeOf(error) === 'ENOSPC'
          ? 'make room on its disk, or choose another folder with --data'
          : 'mend its disk, or choose another folder with --data',
    })
  }
}
