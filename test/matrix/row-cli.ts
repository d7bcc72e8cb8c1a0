// Programs in the matrix of rows: a shell that does what the way says, and ends as it says.
import type { JsonObject } from '../../src/util/json.ts'
import { behaviourOf, document, HANGS, nameOf, type RowSubject, runtimeOf, specOf } from './row-subject.ts'

const ABSENT = '/nowhere/at-all'

/** The exit code that a way is, and what is declared of it. */
const CODES: Readonly<Record<string, readonly [number, JsonObject]>> = {
  unauthorized: [10, { code: 'auth_invalid' }],
  forbidden: [11, { code: 'auth_forbidden' }],
  rejected: [12, { code: 'invalid_input' }],
  throttled: [13, { code: 'rate_limited', retryable: true }],
  fault: [14, { code: 'execution_failed', retryable: true }],
  'says that the token ended': [15, { code: 'auth_expired', retryable: true }],
}

const SCRIPTS: Readonly<Record<string, string>> = {
  [HANGS]: 'exec sleep 600',
  'output without end': 'exec yes',
  'output breaks its schema': `echo '{"n": "no number"}'`,
  'exit code that nobody declared': 'exit 1',
  'ended by a signal': 'kill -SEGV $$',
  'ended for using too much': 'kill -XCPU $$',
}

export async function openCliRows(): Promise<RowSubject> {
  return {
    options: { cliAllow: ['sh', ABSENT] },
    documents(way, kind) {
      const cli = { env: { PATH: '/usr/bin:/bin' }, ...cliOf(behaviourOf(way)) }
      const image = way === 'isolation container' ? { image: 'localhost/matrix:1' } : {}
      const spec = {
        ...specOf(way, kind),
        runtime: runtimeOf(way, 'none'),
        type: 'cli',
        cli: { ...cli, ...image },
      }
      return [document('Tool', nameOf(way, kind), spec)]
    },
    toolOf: nameOf,
    inputOf: (way) => ({ text: way === 'arguments are too large' ? 'x'.repeat(100_000) : '--version' }),
    close: () => Promise.resolve(),
  }
}

function cliOf(way: string): JsonObject {
  const code = CODES[way]
  if (code !== undefined) {
    const [exit, meaning] = code
    return { command: 'sh', args: ['-c', `exit ${exit}`], exit_codes: { [exit]: meaning } }
  }
  switch (way) {
    case 'command is not listed':
      return { command: 'env' }
    case 'program is not there':
      return { command: ABSENT }
    case 'argument begins with a dash':
      return { command: 'sh', args: ['{{.text}}'] }
    case 'arguments are too large':
      return { command: 'sh', args: Array.from({ length: 12 }, () => '{{.text}}') }
    case 'secret is not there':
      return { command: 'sh', args: ['-c', 'exit 0'], env_from: [{ name: 'KEY', secretRef: 'nowhere' }] }
    case 'secret of another namespace':
      return { command: 'sh', args: ['-c', 'exit 0'], env_from: [{ name: 'KEY', secretRef: 'blue/key' }] }
    default:
      return { command: 'sh', args: ['-c', SCRIPTS[way] ?? 'exit 0'] }
  }
}
