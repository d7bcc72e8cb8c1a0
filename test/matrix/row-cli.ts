// Programs in the matrix of rows: a shell that does what the way says, and ends as it says.
import type { JsonObject } from '../../src/util/json.ts'
import {
  behaviourOf,
  document,
  envOf,
  HANGS,
  nameOf,
  type RowKit,
  type RowSubject,
  runtimeOf,
  specOf,
} from './row-subject.ts'

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

/** `$SAID` is what it says beside that, if only for itself. */
const SCRIPTS: Readonly<Record<string, string>> = {
  [HANGS]: 'exec sleep 600',
  'output without end': 'exec yes "$SAID"',
  'exit code that nobody declared': 'exit 1',
  'ended by a signal': 'kill -SEGV $$',
  'ended for using too much': 'kill -XCPU $$',
}

export async function openCliRows({ voice }: Pick<RowKit, 'voice'>): Promise<RowSubject> {
  const { program } = voice

  /** Notes what it was shown, and says it on both streams. */
  function scriptOf(way: string, name: string): string {
    const script = SCRIPTS[way] ?? `exit ${CODES[way]?.[0] ?? 0}`
    if (way === 'output breaks its schema') {
      const text = program === undefined ? '{"n": "no number"}' : `{"n": "no number", "said": '"$CANARY"'}`
      return `${noted(name)}echo '${text}'`
    }
    if (program === undefined || way === 'output without end') return noted(name) + script
    return `${noted(name)}echo "$SAID"; echo "$SAID" >&2; ${script}`
  }

  function noted(name: string): string {
    if (program === undefined) return ''
    return `env | grep ^CANARY > '${program.notes}/${name}'; SAID="$CANARY $(cat '${program.said}')"; `
  }

  return {
    options: { cliAllow: ['sh', ABSENT] },
    documents(way, kind) {
      const name = nameOf(way, kind)
      const behaviour = behaviourOf(way)
      const known = cliOf(behaviour) ?? { command: 'sh', args: ['-c', scriptOf(behaviour, name)] }
      const variables = envOf(way, { voice })
      const cli = {
        env: { PATH: '/usr/bin:/bin' },
        ...known,
        ...(variables.length === 0 ? {} : { env_from: [...variables] }),
        ...(program === undefined || way === 'output breaks its schema' ? {} : { output: 'both' }),
        ...exitOf(behaviour),
      }
      const image = way === 'isolation container' ? { image: 'localhost/matrix:1' } : {}
      const spec = {
        ...specOf(way, kind),
        runtime: runtimeOf(way, 'none'),
        type: 'cli',
        cli: { ...cli, ...image },
      }
      return [document('Tool', name, spec)]
    },
    toolOf: nameOf,
    inputOf: (way) => ({ text: way === 'arguments are too large' ? 'x'.repeat(100_000) : '--version' }),
    close: () => Promise.resolve(),
  }
}

function exitOf(way: string): JsonObject {
  const [exit, meaning] = CODES[way] ?? []
  return exit === undefined || meaning === undefined ? {} : { exit_codes: { [exit]: meaning } }
}

/** Of the ways in which no script runs. */
function cliOf(way: string): JsonObject | undefined {
  switch (way) {
    case 'command is not listed':
      return { command: 'env' }
    case 'program is not there':
      return { command: ABSENT }
    case 'argument begins with a dash':
      return { command: 'sh', args: ['{{.text}}'] }
    case 'arguments are too large':
      return { command: 'sh', args: Array.from({ length: 12 }, () => '{{.text}}') }
    default:
      return undefined
  }
}
