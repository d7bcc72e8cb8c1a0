// Takes a data folder for one server: the folder, its lock, and the token of its admin.
import { existsSync } from 'node:fs'
import type { Config } from '../config/config-schema.ts'
import { type DataLock, lockData } from '../store/sqlite/lock.ts'
import { CliError, EXIT, messageOf } from './cli-error.ts'
import {
  type DataFolder,
  dataFolderAt,
  isAlive,
  makeDataFolder,
  readOrMakeAdminToken,
  readServerNote,
} from './data-folder.ts'
import type { Terminal } from './terminal.ts'

/** A data folder that this process holds, with the token of its admin. */
export interface OpenData {
  readonly folder: DataFolder
  readonly lock: DataLock
  readonly token: string
  /** Where the token came from, for the operator to read. */
  readonly tokenFrom: 'environment' | 'file' | 'new file'
}

/** Takes the folder for this process, or says who has it. In `production` the token comes from the environment (S51). */
export function openData(terminal: Terminal, config: Config): OpenData {
  const folder = dataFolderAt(terminal.cwd, config.data)
  makeDataFolder(folder)
  const lock = lockFolder(folder)
  try {
    return { folder, lock, ...adminToken(folder, config) }
  } catch (error) {
    lock.release()
    throw error
  }
}

function lockFolder(folder: DataFolder): DataLock {
  try {
    return lockData(folder.path)
  } catch (error) {
    const note = readServerNote(folder)
    throw new CliError(messageOf(error), {
      exit: EXIT.startFailed,
      ...(note && isAlive(note.pid)
        ? { fix: `process ${note.pid} listens on ${note.url}: use or stop that one` }
        : {}),
    })
  }
}

function adminToken(folder: DataFolder, config: Config): Pick<OpenData, 'token' | 'tokenFrom'> {
  if (config.profile === 'production' && existsSync(folder.tokenFile)) {
    throw new CliError(
      `profile production does not start beside an admin token in a file, ${folder.tokenFile}`,
      {
        exit: EXIT.startFailed,
        fix: 'delete that file; the token is the one in WRIT_ADMIN_TOKEN',
      },
    )
  }
  if (config.admin_token !== undefined) return { token: config.admin_token, tokenFrom: 'environment' }
  const { token, made } = readOrMakeAdminToken(folder)
  return { token, tokenFrom: made ? 'new file' : 'file' }
}
