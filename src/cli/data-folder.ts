// The files of a server beside its database: the admin token, and the note that tells commands where it listens.
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { isJsonObject } from '../util/json.ts'
import { CliError, codeOf, EXIT, messageOf } from './cli-error.ts'

export interface DataFolder {
  readonly path: string
  readonly database: string
  readonly tokenFile: string
  readonly serverFile: string
}

export function dataFolderAt(cwd: string, path: string): DataFolder {
  const at = resolve(cwd, path)
  return Object.freeze({
    path: at,
    database: join(at, 'writ.db'),
    tokenFile: join(at, 'admin-token'),
    serverFile: join(at, 'server.json'),
  })
}

/** Makes the folder for its owner alone; one that is there keeps its rights. */
export function makeDataFolder(folder: DataFolder): void {
  try {
    const made = mkdirSync(folder.path, { recursive: true, mode: 0o700 })
    // The umask only takes rights away; parents made on the way have the same, which is more than they need.
    if (made !== undefined) chmodSync(folder.path, 0o700)
  } catch (error) {
    throw new CliError(`the data folder ${folder.path} cannot be made: ${messageOf(error)}`, {
      exit: EXIT.startFailed,
      fix: 'choose another with --data, or mend the rights of its parent',
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
  const others = rightsOfOthers(folder.tokenFile)
  if (others === undefined) return undefined
  if (others !== 0) {
    throw new CliError(`others can read or change the admin token in ${folder.tokenFile}`, {
      exit: EXIT.startFailed,
      fix: `delete the file if someone may have read it, and start again; else run: chmod 600 '${folder.tokenFile}'`,
    })
  }
  const token = readFileSync(folder.tokenFile, 'utf8').trim()
  if (!/^[\x21-\x7e]{32,4096}$/.test(token)) {
    throw new CliError(`${folder.tokenFile} does not hold a usable token`, {
      exit: EXIT.startFailed,
      fix: 'delete the file and start the server again: it makes a new one',
    })
  }
  return token
}

/** The token that is there, or a new one. */
export function readOrMakeAdminToken(folder: DataFolder): { readonly token: string; readonly made: boolean } {
  const found = readAdminToken(folder)
  if (found !== undefined) return { token: found, made: false }
  const token = randomBytes(32).toString('base64url')
  const half = `${folder.tokenFile}.${randomBytes(6).toString('hex')}`
  writeDurably(half, `${token}\n`)
  try {
    // A link never replaces a file, and the name appears with the whole token behind it.
    linkSync(half, folder.tokenFile)
  } finally {
    rmSync(half, { force: true })
  }
  return { token, made: true }
}

/** Where a server listens, for commands beside it. */
export interface ServerNote {
  readonly url: string
  readonly pid: number
  readonly started_at: string
}

export function writeServerNote(folder: DataFolder, note: ServerNote): void {
  const half = `${folder.serverFile}.${randomBytes(6).toString('hex')}`
  writeDurably(half, `${JSON.stringify(note, null, 2)}\n`)
  renameSync(half, folder.serverFile)
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

function writeDurably(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
