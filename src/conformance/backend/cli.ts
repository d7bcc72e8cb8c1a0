// Programs: each operation is a run of a small one of our own, which asks the peer what to answer and says it by its output
// and its exit code.
import type { JsonObject } from '../../util/json.ts'
import { createOperations, type Fault } from '../operations.ts'
import { PROBE_CODE } from '../probe.ts'
import { CREDENTIAL_VARIABLE, type Declaration, OPERATIONS } from '../tools.ts'
import { type Backend, COMMON_LIMITATIONS } from './backend.ts'
import { credentialsOf, headerOf, listen, type ServiceReply, SHOWN_HEADER, traceIdOf } from './loopback.ts'

const EXIT_HEADER = 'conformance-exit'

/** Given to the interpreter of this very process. Killed, it hangs up, and so the peer knows. */
const PROGRAM = `
const { KEY, ATTEMPT, TRACE, PEER, ${CREDENTIAL_VARIABLE}: shown } = process.env
let input = ''
process.stdin.setEncoding('utf8').on('data', (text) => { input += text }).on('end', () => {
  const headers = { 'idempotency-key': KEY, 'writ-attempt': ATTEMPT, traceparent: TRACE }
  if (shown !== undefined) headers['${SHOWN_HEADER}'] = shown
  require('node:http').request(PEER, { method: 'POST', headers }, (reply) => {
    let output = ''
    reply.setEncoding('utf8').on('data', (text) => { output += text }).on('end', () => {
      process.stdout.write(output, () => process.exit(Number(reply.headers['${EXIT_HEADER}'] ?? 0)))
    })
  }).end(input)
})`

export const cliBackend: Backend = {
  name: 'cli',
  limitations: Object.freeze({
    ...COMMON_LIMITATIONS,
    'C4.4':
      'A program is shown its credentials as variables of its environment (cli.env_from); the four profiles are for what is reached over the network, and are refused when they are declared for type cli.',
    'C6.2':
      'With isolation none a program runs on the host, as the user of the server. What a request tries is blocked, only listed commands run, and no argument is read by a shell; what the program itself does is not held.',
  }),
  isolation: Object.freeze({
    provided: Object.freeze(['none'] as const),
    boundary:
      'A process group of its own, started without a shell, with nothing of the environment of the server; it ends with its call. There is no boundary around what it may reach on the host: that is why the operator lists the commands, and why profile production runs none. Any other isolation is refused with isolation_unavailable.',
  }),
  hasEndpoint: false,
  givesStatus: false,
  presents: 'value',
  notes: Object.freeze([
    'A failure is told by an exit code; which code means what is declared (cli.exit_codes). One that is not declared is not retryable.',
    'A server that is killed cannot end its programs: they run to their end, and their effect is unknown.',
  ]),
  async openPeer({ world }) {
    const operations = createOperations(world)
    const service = await listen(async ({ path, headers, body, signal }): Promise<ServiceReply> => {
      const operation = OPERATIONS.find((name) => name === path)
      if (operation === undefined) return exitWith({ code: 'unsupported_tool' })
      const result = await operations.run({
        operation,
        input: body,
        key: headerOf(headers, 'idempotency-key'),
        attempt: Number(headerOf(headers, 'writ-attempt')),
        signal,
        traceId: traceIdOf(headers),
        credentials: credentialsOf(headers),
      })
      return result.ok ? { status: 200, body: result.output } : exitWith(result.fault)
    })
    return {
      offer: (tool) => ({ kind: 'manifest', manifest: manifestOf(tool, service.origin) }),
      cliAllow: [process.execPath],
      sends: operations.sends,
      close: service.close,
    }
  },
}

/** Each meaning has two codes: one that is worth another try, and one that is not. */
const FIRST_EXIT = 10
const MEANINGS = [
  'execution_failed',
  'invalid_input',
  'unsupported_tool',
  'rate_limited',
  'permission_denied',
  'auth_invalid',
  'auth_forbidden',
  PROBE_CODE,
]

function exitCode(meaning: string, retryable: boolean): number {
  return FIRST_EXIT + 2 * MEANINGS.indexOf(meaning) + (retryable ? 1 : 0)
}

const EXIT_CODES = Object.fromEntries(
  MEANINGS.flatMap((code) =>
    [false, true].map((retryable) => [exitCode(code, retryable), { code, retryable }]),
  ),
)

function exitWith({ code, retryable = false }: Pick<Fault, 'code' | 'retryable'>): ServiceReply {
  const meaning = MEANINGS.includes(code) ? code : 'execution_failed'
  return { status: 200, headers: { [EXIT_HEADER]: String(exitCode(meaning, retryable)) }, body: null }
}

function manifestOf({ name, operation, effect, spec }: Declaration, origin: string): JsonObject {
  const { auth, runtime, ...rest } = spec
  const isolation = runtime?.isolation_mode ?? 'none'
  // A program has no headers, so it is shown the value alone. Any other profile stays as it is, and is refused.
  const shown = auth?.profile === 'bearer' ? auth.secretRef : undefined
  const secret = shown !== undefined && { env_from: [{ name: CREDENTIAL_VARIABLE, secretRef: shown }] }
  const cli = {
    command: process.execPath,
    args: ['-e', PROGRAM],
    stdin_from_input: true,
    env: { PEER: `${origin}/${operation}` },
    env_call: { KEY: 'key', ATTEMPT: 'attempt', TRACE: 'traceparent' },
    exit_codes: EXIT_CODES,
    ...(secret || {}),
    ...(isolation === 'none' ? {} : { image: 'localhost/conformance:1' }),
  }
  return JSON.parse(
    JSON.stringify({
      apiVersion: 'writ.dev/v1',
      kind: 'Tool',
      metadata: { name },
      spec: {
        ...rest,
        ...(shown === undefined ? { auth } : {}),
        type: 'cli',
        runtime: { ...runtime, isolation_mode: isolation },
        cli,
        // Without a schema the output would be text.
        operations: { [operation]: { effect, output_schema: {} } },
      },
    }),
  )
}
