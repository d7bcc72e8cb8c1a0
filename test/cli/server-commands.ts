// Commands run in this process against a real server.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dispatch } from '../../src/cli/dispatch.ts'
import { type Harness, startHarness, TOKEN } from '../server/harness.ts'
import { createRecordingTerminal } from './recording-terminal.ts'

type Options = Parameters<typeof createRecordingTerminal>[0]

export interface ServerCommands<H extends Harness = Harness> {
  readonly harness: H
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** One command line. Words in quotes are one word, as in a shell. */
  writ(
    line: string,
    options?: Options,
  ): Promise<{ readonly code: number; readonly out: string; readonly err: string }>
  close(): Promise<void>
}

export async function startServerCommands(): Promise<ServerCommands<Harness>> {
  return serverCommands(await startHarness())
}

/** The same for a server that is there already; it is closed with the commands. */
export function serverCommands<H extends Harness>(harness: H): ServerCommands<H> {
  const cwd = mkdtempSync(join(tmpdir(), 'writ-command-'))
  const env = { WRIT_URL: harness.url, WRIT_TOKEN: TOKEN }
  return {
    harness,
    cwd,
    env,
    async writ(line, options = {}) {
      const terminal = createRecordingTerminal({ cwd, env, ...options })
      const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
      const code = await dispatch(words, terminal)
      return { code, ...terminal.written }
    },
    async close() {
      await harness.close()
      rmSync(cwd, { recursive: true })
    },
  }
}
