// The cli transport with a real program that behaves as its argument says, and writes down what it was given.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ResolvedCli } from '../../src/resource/resolved-cli.ts'
import { createCliTransport } from '../../src/transport/cli.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { Json } from '../../src/util/json.ts'
import { makeOperation, makeTool } from './send-fixture.ts'
import { pause, type Seen, type TransportUnderTest } from './transport-contract.ts'

export const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/cli/${name}`, import.meta.url))

const BEHAVE = fixture('behave.sh')

export function makeCli(overrides: Partial<ResolvedCli> = {}): ResolvedCli {
  return {
    command: BEHAVE,
    args: [],
    allowDash: false,
    stdinFromInput: false,
    output: 'stdout',
    workingDir: '/',
    env: {},
    envCall: {},
    envFrom: [],
    exitCodes: {},
    ...overrides,
  }
}

export const cliUnderTest: TransportUnderTest = {
  name: 'cli',
  without: {
    'cut-mid-body': 'the end of a program is its exit, and what it wrote until then is its output',
    refuse: 'there is no connection; a program that is not there is config-invalid',
  },
  async open() {
    const world = createSystemWorld()
    const notes = mkdtempSync(join(tmpdir(), 'writ-cli-'))
    const transport = createCliTransport({ world, cliAllow: [BEHAVE] })
    const log = join(notes, 'log')
    const seen = (): Seen[] => {
      const lines = existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n') : []
      return lines.map((line) => {
        const [pid = '', key = '', attempt] = line.split(' ')
        const input = readFileSync(join(notes, pid), 'utf8')
        return { input: JSON.parse(input) as Json, key, attempt: Number(attempt) }
      })
    }
    return {
      transport,
      get seen() {
        return seen()
      },
      touched: () => existsSync(log),
      tool(behaviour, overrides) {
        const cli = makeCli({
          args: [behaviour],
          stdinFromInput: true,
          env: { NOTES: notes, PATH: '/usr/bin:/bin' },
          envCall: { KEY: 'key', ATTEMPT: 'attempt' },
          exitCodes: {
            3: { effect: 'unknown', retryable: false, code: 'invalid_input' },
            4: { effect: 'none', retryable: true, code: 'execution_failed' },
          },
        })
        return { ...makeTool({ type: 'cli', cli }, makeOperation({ outputSchema: {} })), ...overrides }
      },
      async arrived(count) {
        while (seen().length < count) await pause(5)
      },
      async close() {
        await transport.close()
        await world.network.close()
        rmSync(notes, { recursive: true })
      },
    }
  },
}
