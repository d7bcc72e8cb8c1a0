// Group C6: boundaries. One that cannot be held must refuse the call, never weaken.
import type { JsonObject } from '../../util/json.ts'
import type { Case } from '../case.ts'
import { codesOf, mappingOf, objectOf, requestFor, send } from '../envelope.ts'
import type { Subject } from '../subject.ts'
import { BOUNDED_MODES, BOXED_TOOL, isolatedTool, SMALL_OUTPUT_BYTES, TOOLS } from '../tools.ts'
import { checkNotSent } from './not-sent.ts'

const UNAVAILABLE = {
  status: 'error',
  code: 'isolation_unavailable',
  reason: 'tool_isolation_unavailable',
  retryable: false,
}

const constraints: Case = {
  id: 'isolation/constraints',
  title: 'a constraint holds, or the call is refused',
  requirements: ['C6.1'],
  needs: ['echo'],
  async run(subject, check) {
    const mark = subject.mint()
    const memory = await send(subject, requestFor(subject, 'memory', { input: { mark } }))
    check.equal('C6.1', 'status where memory cannot be bounded', memory.status, 'error')
    check.equal('C6.1', 'code where memory cannot be bounded', memory.error.code, 'runtime_policy_invalid')
    checkNotSent(subject, check, 'C6.1', 'a call without its bound on memory', mark)

    const boxed = await send(subject, {
      tool_contract_version: 'v1',
      request_id: `conformance-${subject.mint()}`,
      tool: { name: BOXED_TOOL.name, operation: BOXED_TOOL.operation },
      input: {},
    })
    check.equal('C6.1', 'where processor and processes cannot be bounded', codesOf(boxed), UNAVAILABLE)

    const fits = await send(subject, requestFor(subject, 'small', { input: { text: 'x' } }))
    check.equal('C6.1', 'status of an output within its bound', fits.status, 'ok')
    const large = await send(
      subject,
      requestFor(subject, 'small', { input: { text: 'x'.repeat(2 * SMALL_OUTPUT_BYTES) } }),
    )
    check.equal('C6.1', 'reason of an output past its bound', large.error.reason, 'tool_output_too_large')

    if (!subject.hasEndpoint) return
    const away = await sendFourOutcome(subject, ['https://allowed.invalid'], mark)
    check.equal('C6.1', 'status of a call past its network allowlist', away.status, 'terminal_error')
    check.equal('C6.1', 'code of a call past its network allowlist', objectOf(away.error).code, 'A-AUTH-020')
    checkNotSent(subject, check, 'C6.1', 'a call past its network allowlist', mark)
  },
}

/** The dialect in which a request can narrow where a call may go. */
async function sendFourOutcome(
  subject: Subject,
  netAllowlist: readonly string[],
  mark: string,
): Promise<JsonObject> {
  return subject
    .start({
      call_id: subject.mint(),
      tool_id: TOOLS.echo.name,
      tool_version: '*',
      fn: TOOLS.echo.operation,
      input: { mark },
      context: { actor_id: 'conformance-agent', trace_id: subject.mint(), timezone: 'UTC', env: 'dev' },
      constraints: {
        timeout_ms: 1_000,
        deadline_unix_ms: subject.world.clock.now() + 60_000,
        idempotency_key: subject.mint(),
        net_allowlist: netAllowlist,
      },
    })
    .answer()
}

const escapes: Case = {
  id: 'isolation/escape',
  title: 'nobody gets out of what the tool declares: not by a weaker mode, another secret or a redirect',
  requirements: ['C6.2'],
  async run(subject, check) {
    const mark = subject.mint()
    const input = { mark }
    const ways = [
      [
        'a request for a weaker isolation',
        () => requestFor(subject, isolatedTool('sandboxed'), { input, runtime: { mode: 'none' } }),
        {
          status: 'error',
          code: 'runtime_policy_invalid',
          reason: 'tool_runtime_policy_invalid',
          retryable: false,
        },
      ],
      [
        'a request with a credential that the tool does not declare',
        () => requestFor(subject, 'echo', { input, auth: { secret_ref: 'not-declared' } }),
        {
          status: 'denied',
          code: 'secret_resolution_failed',
          reason: 'tool_secret_resolution_failed',
          retryable: false,
        },
      ],
      [
        'a request for an isolation that is not there',
        () => requestFor(subject, 'echo', { input, runtime: { mode: 'container' } }),
        UNAVAILABLE,
      ],
    ] as const
    for (const [what, request, expected] of ways) {
      const [first, second] = [await send(subject, request()), await send(subject, request())]
      check.equal('C6.2', what, codesOf(first), expected)
      check.equal('C6.2', `${what}, the second time`, mappingOf(second), mappingOf(first))
    }
    checkNotSent(subject, check, 'C6.2', 'an attempt to get out', mark)
    if (!subject.givesStatus) return
    const redirect = await send(
      subject,
      requestFor(subject, 'fail', { input: { code: 'execution_failed', status: 307, mark } }),
    )
    check.equal('C6.2', 'status of a redirect', redirect.status, 'error')
    const reached = subject.sends(mark)?.map(({ operation }) => operation)
    check.equal('C6.2', 'operations that a redirect reached', reached, ['fail'])
  },
}

const documented: Case = {
  id: 'isolation/documented',
  title: 'the isolation is as the backend says: given, or refused',
  requirements: ['C6.3'],
  needs: ['echo'],
  async run(subject, check) {
    const { provided, boundary } = subject.isolation
    check.that('C6.3', 'the boundary is described', boundary.trim() !== '')
    for (const mode of BOUNDED_MODES) {
      const mark = subject.mint()
      const answer = await send(subject, requestFor(subject, isolatedTool(mode), { input: { mark } }))
      if (provided.includes(mode)) {
        check.equal('C6.3', `status with isolation ${mode}`, answer.status, 'ok')
        continue
      }
      check.equal('C6.3', `a call with isolation ${mode}`, codesOf(answer), UNAVAILABLE)
      checkNotSent(subject, check, 'C6.3', `a call with isolation ${mode}`, mark)
    }
  },
}

export const isolationCases: readonly Case[] = [constraints, escapes, documented]
