// Which server a command talks to: the one that the environment names, else the one on the data folder.
import { ClientError } from '../client/client-error.ts'
import { CliError, EXIT, usageError } from './cli-error.ts'
import { type DataFolder, dataFolderAt, isAlive, readAdminToken, readServerNote } from './data-folder.ts'
import type { Terminal } from './terminal.ts'

export interface FoundServer {
  readonly url: string
  readonly token: string
  /** The process that says it is the server, where it was found through its data folder. */
  readonly pid?: number
}

const DEFAULT_DATA = '.writ'

export function clientDataFolder(terminal: Terminal, data: string | undefined): DataFolder {
  return dataFolderAt(terminal.cwd, data ?? (terminal.env.WRIT_DATA || DEFAULT_DATA))
}

export function findServer(terminal: Terminal, data: string | undefined): FoundServer {
  const url = terminal.env.WRIT_URL || undefined
  const token = terminal.env.WRIT_TOKEN || undefined
  if (url !== undefined) {
    // The token of a data folder belongs to the server on it and goes nowhere else.
    if (token === undefined) {
      throw new CliError('WRIT_URL is set and WRIT_TOKEN is not', {
        exit: EXIT.usage,
        fix: 'set WRIT_TOKEN to a token of that server, or unset WRIT_URL to use the server on the data folder',
      })
    }
    return { url: checkUrl(url), token }
  }
  const folder = clientDataFolder(terminal, data)
  const note = readServerNote(folder)
  if (note === undefined) {
    throw new CliError(`no Writ server runs on the data folder ${folder.path}`, {
      exit: EXIT.retryable,
      fix: "run 'writ up', or wait if it was started just now; name its data folder with --data, or set WRIT_URL and WRIT_TOKEN",
    })
  }
  if (!isAlive(note.pid)) {
    throw new CliError(`the server on ${folder.path} (process ${note.pid}) is gone without saying so`, {
      exit: EXIT.retryable,
      fix: "run 'writ up': it recovers what was under way",
    })
  }
  const found = token ?? readAdminToken(folder)
  if (found === undefined) {
    throw new CliError(`the server on ${folder.path} keeps no token in a file`, {
      exit: EXIT.usage,
      fix: 'set WRIT_TOKEN to a token of that server',
    })
  }
  return { url: note.url, token: found, pid: note.pid }
}

/** A server whose process runs and that takes no connections is on its way out: another one could not start yet. */
export function stoppingOf({ pid }: FoundServer, error: unknown): CliError | undefined {
  if (!(error instanceof ClientError) || error.kind !== 'unreachable') return undefined
  if (pid === undefined || !isAlive(pid)) return undefined
  return new CliError(`the server is stopping: process ${pid} takes no new connections and lets calls end`, {
    exit: EXIT.retryable,
    fix: "wait until it has ended, then run 'writ up'",
  })
}

function checkUrl(text: string): string {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw usageError('WRIT_URL is not an http or https address', 'write it like http://127.0.0.1:7411')
  }
  if (url.username !== '' || url.password !== '') {
    throw usageError('WRIT_URL carries a credential', 'put the token into WRIT_TOKEN')
  }
  return text
}
