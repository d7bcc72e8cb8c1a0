// Which of the four operations a tool offers, found out by asking for each of them once (S54).
import { isJsonObject, type JsonObject } from '../util/json.ts'
import { type Envelope, requestFor, send } from './envelope.ts'
import type { Subject } from './subject.ts'
import { OPERATIONS, type OperationName } from './tools.ts'

export type Probe =
  | { readonly state: 'offered'; readonly why: '' }
  /** The tool says that it has no such operation, or fails it. */
  | { readonly state: 'lacking'; readonly why: string }
  /** It does something, but not by the contract: `fault` says in which way. */
  | { readonly state: 'broken'; readonly why: string; readonly fault: ProbeFault }

export type ProbeFault = 'version' | 'request-id' | 'envelope' | 'silent' | 'unreachable'

export type Probes = Readonly<Record<OperationName, Probe>>

/** A code of its own: a tool that fails for another reason gives another one. */
export const PROBE_CODE = 'conformance_probe'
/** The status of a plain service that is asked to fail in this way. */
const PROBE_STATUS = 422

const INPUTS: Readonly<Record<OperationName, JsonObject>> = {
  echo: { text: 'probe' },
  sleep: { ms: 1 },
  fail: { code: PROBE_CODE, retryable: false, message: 'asked to fail', status: PROBE_STATUS },
  count: {},
}

const OFFERED: Probe = Object.freeze({ state: 'offered', why: '' })

export async function probe(subject: Subject): Promise<Probes> {
  const found = await Promise.all(
    OPERATIONS.map(async (operation) => {
      const answer = await send(subject, requestFor(subject, operation, { input: INPUTS[operation] }))
      return [operation, judge(operation, answer)] as const
    }),
  )
  return Object.fromEntries(found) as Record<OperationName, Probe>
}

function judge(operation: OperationName, answer: Envelope): Probe {
  if (answer.status === 'ok') return OFFERED
  const { details } = answer
  const failure = String(details.failure)
  if (operation === 'fail' && (details.tool_code === PROBE_CODE || details.http_status === PROBE_STATUS)) {
    return OFFERED
  }
  const said = `'${operation}': ${String(answer.error.message)}`
  if (failure === 'reply-malformed') return malformed(said, details)
  if (failure === 'output-invalid' || failure === 'output-too-large') return broken(said, 'envelope')
  if (failure === 'timeout') return broken(`${said} (${String(details.timeout_ms)} ms)`, 'silent')
  if (failure === 'connect-failed') return broken(said, 'unreachable')
  const code = details.tool_code ?? details.http_status ?? failure
  const asked = operation === 'fail' ? `, not ${PROBE_CODE}` : ''
  return { state: 'lacking', why: `the tool does not offer ${said} (${String(code)}${asked})` }
}

function malformed(said: string, details: JsonObject): Probe {
  const violations = Array.isArray(details.violations) ? details.violations.filter(isJsonObject) : []
  const paths = violations.map(({ path }) => String(path))
  const listed = violations.map(({ path, message }) => `${String(path) || '/'} ${String(message)}`).join('; ')
  const why = `${said}: ${listed}`
  if (paths.length > 0 && paths.every((path) => path === '/request_id')) return broken(why, 'request-id')
  if (paths.length > 0 && paths.every((path) => path.endsWith('contract_version')))
    return broken(why, 'version')
  return broken(why, 'envelope')
}

function broken(why: string, fault: ProbeFault): Probe {
  return { state: 'broken', why, fault }
}

/** Nothing that could be tested: the address is wrong, or what is there is no such service. */
export class NothingToTest extends Error {
  override readonly name = 'NothingToTest'
  readonly reasons: readonly string[]

  constructor(subject: string, probes: Probes) {
    const all = Object.values(probes)
    const away = all.every((one) => one.state === 'broken' && one.fault === 'unreachable')
    super(
      away
        ? `${subject} cannot be reached`
        : `${subject} offers none of the operations ${OPERATIONS.join(', ')}`,
    )
    this.reasons = all.map(({ why }) => why)
  }
}

export function hasNothing(probes: Probes): boolean {
  return Object.values(probes).every(
    (one) => one.state === 'lacking' || (one.state === 'broken' && one.fault === 'unreachable'),
  )
}
