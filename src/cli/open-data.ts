// What a server finds in its data folder before it starts: the folder, the token of its admin, and whether a ledger is there.
import { existsSync, statSync } from 'node:fs'
import type { Config } from '../config/config-schema.ts'
import { CliError, EXIT } from './cli-error.ts'
import { type DataFolder, dataFolderAt, makeDataFolder, readOrMakeAdminToken } from './data-folder.ts'
import type { Terminal } from './terminal.ts'

/** A data folder with the token of its admin. It is not held yet: the store takes the lock as it opens (S52). */
export interface OpenData {
  readonly folder: DataFolder
  readonly token: string
  /** Where the token came from, for the operator to read. */
  readonly tokenFrom: 'environment' | 'file' | 'new file'
  /** A server ran here before, and its ledger is gone: what its keys stood for can happen again. */
  readonly ledgerLost: boolean
}

/** Makes the folder where there is none. In `production` the token comes from the environment (S51). */
export function openData(terminal: Terminal, config: Config): OpenData {
  const folder = dataFolderAt(terminal.cwd, config.data)
  makeDataFolder(folder)
  const ledgerLost = config.store === 'sqlite' && isLedgerLost(folder)
  return { folder, ledgerLost, ...adminToken(folder, config) }
}

/** Looked at before this start leaves traces of its own. */
function isLedgerLost({ database, lockFile, tokenFile }: DataFolder): boolean {
  const kept = (statSync(database, { throwIfNoEntry: false })?.size ?? 0) > 0
  return !kept && (existsSync(tokenFile) || existsSync(lockFile))
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
