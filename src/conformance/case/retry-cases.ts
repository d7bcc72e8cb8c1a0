// Group C3: what may be tried again, and who says so.
import type { JsonObject } from '../../util/json.ts'
import type { Case } from '../case.ts'
import { codesOf, requestFor, send } from '../envelope.ts'
import { checkNotSent } from './not-sent.ts'

const BACKEND_FAILURE = 'tool_backend_failure'

interface Mapping {
  readonly input: JsonObject
  readonly code: string
  readonly reason: string
  readonly retryable: boolean
}

/** The code is for services that speak the contract, the status for plain ones; both mean the same here. */
const MAPPINGS: readonly Mapping[] = [
  mapping('execution_failed', 503, true, 'execution_failed', BACKEND_FAILURE),
  mapping('rate_limited', 429, true, 'rate_limited', BACKEND_FAILURE),
  mapping('invalid_input', 422, false, 'execution_failed', BACKEND_FAILURE),
  mapping('unsupported_tool', 404, false, 'execution_failed', BACKEND_FAILURE),
  mapping('permission_denied', 403, false, 'auth_forbidden', 'tool_auth_forbidden'),
]

function mapping(asked: string, status: number, retryable: boolean, code: string, reason: string): Mapping {
  return { input: { code: asked, status, retryable }, code, reason, retryable }
}

const retryability: Case = {
  id: 'retry/mapping',
  title: 'each kind of failure is retryable or not, whenever it happens',
  requirements: ['C3.1'],
  needs: ['fail'],
  async run(subject, check) {
    for (const { input, code, reason, retryable } of MAPPINGS) {
      for (const time of ['first', 'second']) {
        const answer = await send(subject, requestFor(subject, 'fail', { input }))
        check.equal('C3.1', `'${String(input.code)}', the ${time} time`, codesOf(answer), {
          status: 'error',
          code,
          reason,
          retryable,
        })
      }
    }
  },
}

const attempts: Case = {
  id: 'retry/attempt',
  title: 'usage.attempt counts the sends, and the tool is told the same number',
  requirements: ['C3.2'],
  needs: ['echo', 'fail'],
  async run(subject, check) {
    const once = await send(subject, requestFor(subject, 'echo', { input: {} }))
    check.equal('C3.2', 'usage.attempt of a success', once.usage.attempt, 1)

    const mark = subject.mint()
    const input = { code: 'execution_failed', status: 503, retryable: true, mark }
    const thrice = await send(subject, requestFor(subject, 'fail-again', { input }))
    check.equal('C3.2', 'usage.attempt after three attempts', thrice.usage.attempt, 3)
    check.equal('C3.2', 'retryable after the last attempt', thrice.error.retryable, true)
    const sends = subject.sends(mark)
    if (sends !== undefined) {
      check.equal(
        'C3.2',
        'the attempts that the tool saw',
        sends.map(({ attempt }) => attempt),
        [1, 2, 3],
      )
      check.equal('C3.2', 'the keys that the tool saw', new Set(sends.map(({ key }) => key)).size, 1)
    }

    const fewer = await send(
      subject,
      requestFor(subject, 'fail-again', { input, runtime: { max_attempts: 2 } }),
    )
    check.equal('C3.2', 'usage.attempt where the request asks for two at most', fewer.usage.attempt, 2)
    const denied = await send(subject, requestFor(subject, 'echo', { input: {} }), { without: 'everything' })
    check.equal('C3.2', 'usage.attempt where nothing was sent', denied.usage.attempt, 0)
  },
}

const denials: Case = {
  id: 'retry/denials',
  title: 'a denial is final: not retryable, not retried',
  requirements: ['C3.3'],
  async run(subject, check) {
    const mark = subject.mint()
    const input = { code: 'execution_failed', retryable: true, mark }
    const answer = await send(subject, requestFor(subject, 'fail-again', { input }), {
      without: 'everything',
    })
    check.equal('C3.3', 'status', answer.status, 'denied')
    check.equal('C3.3', 'retryable', answer.error.retryable, false)
    checkNotSent(subject, check, 'C3.3', 'a denied call', mark)
  },
}

const explicit: Case = {
  id: 'retry/explicit',
  title: 'what the tool says about retrying comes through, as far as it is safe',
  requirements: ['C3.4'],
  needs: ['fail'],
  async run(subject, check) {
    for (const retryable of [true, false]) {
      // Alone, this code and this status would be retryable: only the tool's own word makes the difference.
      const input = { code: 'execution_failed', status: 500, retryable }
      const read = await send(subject, requestFor(subject, 'fail', { input }))
      check.equal('C3.4', `a read that fails with retryable ${retryable}`, read.error.retryable, retryable)
    }
    const input = { code: 'execution_failed', status: 500, retryable: true }
    const write = await send(subject, requestFor(subject, 'fail-write', { input }))
    check.equal('C3.4', 'a write that cannot be repeated is not retryable', write.error.retryable, false)
    check.equal('C3.4', 'what the tool said of it', write.details.transient, true)
  },
}

export const retryCases: readonly Case[] = [retryability, attempts, denials, explicit]
