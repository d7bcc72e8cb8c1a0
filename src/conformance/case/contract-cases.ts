// Group C1: the envelope.
import { V1ResponseSchema } from '../../contract/schema/v1.ts'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { compileSchema } from '../../util/json-schema.ts'
import type { Case } from '../case.ts'
import type { Checks } from '../check.ts'
import { codesOf, type Envelope, mappingOf, objectOf, requestFor, send } from '../envelope.ts'
import type { Probe, ProbeFault } from '../probe.ts'
import type { RequirementId } from '../requirements.ts'
import type { OperationName } from '../tools.ts'
import { checkNotSent } from './not-sent.ts'

/** Which requirement a tool breaks that answers like this. */
const REQUIREMENT_OF_FAULT = {
  version: 'C1.1',
  'request-id': 'C1.3',
  envelope: 'C1.4',
  unreachable: 'C1.4',
  silent: 'C2.1',
} as const satisfies Record<ProbeFault, RequirementId>

const replies: Case = {
  id: 'contract/replies',
  title: 'every operation that a tool offers answers by the contract',
  requirements: ['C1.1', 'C1.3', 'C1.4', 'C2.1'],
  async run(_subject, check, probes) {
    for (const [operation, probe] of Object.entries(probes) as [OperationName, Probe][]) {
      if (probe.state === 'lacking') continue
      for (const [fault, requirement] of Object.entries(REQUIREMENT_OF_FAULT)) {
        const at = probe.state === 'broken' && probe.fault === fault
        check.that(requirement, at ? probe.why : `'${operation}' answers`, !at)
      }
    }
  },
}

const versionAccepted: Case = {
  id: 'contract/version-accepted',
  title: 'v1 in each of its spellings is accepted, and v1 is answered',
  requirements: ['C1.1'],
  needs: ['echo'],
  async run(subject, check) {
    for (const version of ['v1', 'V1', 'v1.7', null]) {
      const answer = await send(subject, requestFor(subject, 'echo', { version, input: { text: 'hello' } }))
      const label = version === null ? 'a request without a version' : `version '${version}'`
      check.equal('C1.1', `${label}: status`, answer.status, 'ok')
      check.equal('C1.1', `${label}: tool_contract_version`, answer.body.tool_contract_version, 'v1')
    }
  },
}

const versionRefused: Case = {
  id: 'contract/version-refused',
  title: 'another major version is refused, the same way each time, and never reaches the tool',
  requirements: ['C1.2'],
  async run(subject, check) {
    const expected = {
      status: 'error',
      code: 'invalid_input',
      reason: 'tool_invalid_input',
      retryable: false,
    }
    for (const version of ['v2', 'v9', 'V10.1', '1', 'latest']) {
      const mark = subject.mint()
      const ask = () => send(subject, requestFor(subject, 'echo', { version, input: { mark } }))
      const [first, second] = [await ask(), await ask()]
      check.equal('C1.2', `version '${version}'`, codesOf(first), expected)
      check.equal('C1.2', `version '${version}' for the second time`, mappingOf(second), mappingOf(first))
      checkNotSent(subject, check, 'C1.2', `version '${version}'`, mark)
    }
  },
}

const requestId: Case = {
  id: 'contract/request-id',
  title: 'the request id comes back with every status',
  requirements: ['C1.3'],
  needs: ['echo', 'fail'],
  async run(subject, check) {
    const id = (word: string) => `${word}:${subject.mint()}/A.b-1`
    const asked = [
      ['ok', requestFor(subject, 'echo', { requestId: id('ok'), input: {} })],
      ['error', requestFor(subject, 'fail', { requestId: id('error'), input: FAILING })],
      ['error', requestFor(subject, 'echo', { requestId: id('version'), version: 'v9' })],
    ] as const
    for (const [status, request] of asked) {
      const answer = await send(subject, request)
      check.equal('C1.3', `request_id with status ${status}`, answer.body.request_id, request.request_id)
    }
    const request = requestFor(subject, 'echo', { requestId: id('denied'), input: {} })
    const denied = await send(subject, request, { without: 'everything' })
    check.equal('C1.3', 'request_id with status denied', denied.body.request_id, request.request_id)
  },
}

const fields: Case = {
  id: 'contract/fields',
  title: 'ok, error and denied carry their fields, and none of each other',
  requirements: ['C1.4'],
  needs: ['echo', 'fail'],
  async run(subject, check) {
    const input = { text: 'hello', list: [1, 2.5, null, true], nested: { a: { b: 'ü' } } }
    const ok = await send(subject, requestFor(subject, 'echo', { input }))
    check.equal('C1.4', 'status of a success', ok.status, 'ok')
    check.equal('C1.4', 'output of echo', ok.output, input)
    check.that('C1.4', 'a success has no error', ok.body.error === undefined, ok.body.error)
    checkShape(check, 'ok', ok)

    const failed = await send(subject, requestFor(subject, 'fail', { input: FAILING }))
    check.equal('C1.4', 'status of a failure', failed.status, 'error')
    checkError(check, 'error', failed)

    const denied = await send(subject, requestFor(subject, 'echo', { input }), { without: 'everything' })
    check.equal('C1.4', 'status of a denial', denied.status, 'denied')
    checkError(check, 'denied', denied)
  },
}

const failureMetadata: Case = {
  id: 'contract/failure-metadata',
  title: 'failures are reported with the words of the answer',
  requirements: ['C1.5'],
  needs: ['fail'],
  async run(subject, check) {
    const failing = requestFor(subject, 'fail', { input: { code: 'execution_failed', retryable: true } })
    const forbidden = requestFor(subject, 'echo', { input: {} })
    const answers = [
      [failing, await send(subject, failing)],
      [forbidden, await send(subject, forbidden, { without: 'everything' })],
    ] as const
    for (const [request, answer] of answers) {
      const ended = subject.events().flatMap(({ name, event }) => {
        return name === 'call:ended' && event.tool_request_id === request.request_id ? [event] : []
      })
      const reported = ended.map(({ tool_status, tool_code, tool_reason, retryable }) => {
        return { status: tool_status, code: tool_code, reason: tool_reason, retryable }
      })
      check.equal('C1.5', 'what is reported of a failure', reported, [codesOf(answer)])
      check.that('C1.5', 'a failure has a code', typeof answer.error.code === 'string', answer.error.code)
    }
  },
}

export const contractCases: readonly Case[] = [
  replies,
  versionAccepted,
  versionRefused,
  requestId,
  fields,
  failureMetadata,
]

const FAILING: JsonObject = Object.freeze({ code: 'invalid_input', retryable: false, status: 422 })

function checkError(check: Checks, status: string, answer: Envelope): void {
  const { error, body } = answer
  check.that('C1.4', `${status} has no output`, body.output === undefined, body.output)
  for (const name of ['code', 'reason', 'message']) {
    const value = error[name]
    check.that('C1.4', `${status} has error.${name}`, typeof value === 'string' && value !== '', value)
  }
  check.that('C1.4', `${status} has error.retryable`, typeof error.retryable === 'boolean', error.retryable)
  check.that('C1.4', `${status} has error.details`, isJsonObject(error.details), error.details)
  checkShape(check, status, answer)
}

/** What the contract asks of every response, and the published schema of ours. */
function checkShape(check: Checks, status: string, { body, usage }: Envelope): void {
  const trace = objectOf(body.trace)
  const whole = (value: unknown) => Number.isInteger(value) && Number(value) >= 0
  check.that('C1.4', `${status} has usage.duration_ms`, whole(usage.duration_ms), usage.duration_ms)
  check.that('C1.4', `${status} has usage.attempt`, whole(usage.attempt), usage.attempt)
  check.that('C1.4', `${status} has trace.trace_id`, typeof trace.trace_id === 'string', trace.trace_id)
  check.that('C1.4', `${status} has trace.span_id`, typeof trace.span_id === 'string', trace.span_id)
  const schema = compileSchema(V1ResponseSchema as unknown as JsonObject)
  check.equal('C1.4', `${status} against the response schema`, schema.check(body), [])
}
