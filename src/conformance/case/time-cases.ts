// Group C2: the end of a call, by time and by cancel.
import type { Case } from '../case.ts'
import { codesOf, type Envelope, readEnvelope, requestFor, send } from '../envelope.ts'
import { LATE, until, within } from '../pace.ts'
import type { Subject } from '../subject.ts'

/** Given to the tool, in milliseconds; it would take far longer. */
const TIMEOUT_MS = 150
const LONG_MS = 60_000
/** How late an answer may be on a busy machine. */
const SLACK_MS = 1_500
const MAX_TRIES = 5

const TIMED_OUT = { status: 'error', code: 'timeout', reason: 'tool_execution_timeout', retryable: true }
const CANCELED = { status: 'error', code: 'canceled', reason: 'tool_execution_canceled', retryable: false }

const timeout: Case = {
  id: 'time/timeout',
  title: 'a tool that takes too long is given up at timeout_ms, and one that does not is waited for',
  requirements: ['C2.1', 'C2.2'],
  needs: ['sleep'],
  async run(subject, check) {
    const slow = requestFor(subject, 'sleep', {
      input: { ms: LONG_MS },
      runtime: { timeout_ms: TIMEOUT_MS },
    })
    const began = subject.world.clock.monotonic()
    const answer = await send(subject, slow)
    const took = Math.round(subject.world.clock.monotonic() - began)
    const inTime = took >= TIMEOUT_MS - 1 && took <= TIMEOUT_MS + SLACK_MS
    check.that('C2.1', `an answer after ${TIMEOUT_MS} ms, and soon after`, inTime, `${took} ms`)
    check.equal('C2.2', 'a timeout', codesOf(answer), TIMED_OUT)

    const quick = await send(subject, requestFor(subject, 'sleep', { input: { ms: 20 } }))
    check.equal('C2.1', 'status of a sleep that is shorter than its timeout', quick.status, 'ok')
  },
}

const timeoutOfWrite: Case = {
  id: 'time/timeout-of-a-write',
  title: 'a timeout of a write that cannot be repeated is no invitation to repeat it',
  requirements: ['C2.2'],
  needs: ['sleep'],
  async run(subject, check) {
    const answer = await sendUntilSent(subject)
    const { code, reason } = answer.error
    check.equal(
      'C2.2',
      'code and reason of a timeout',
      { code, reason },
      { code: 'timeout', reason: 'tool_execution_timeout' },
    )
    check.equal('C2.2', 'retryable, where the effect may have happened', answer.error.retryable, false)
    check.equal('C2.2', 'what is known of the effect', answer.body.effect, 'unknown')
  },
}

/**
 * A write that times out after it was sent. On a busy machine the time can be over before that, which is another
 * failure, and a harmless one.
 */
async function sendUntilSent(subject: Subject): Promise<Envelope> {
  const runtime = { timeout_ms: 2 * TIMEOUT_MS }
  let answer: Envelope
  let tries = 0
  do {
    answer = await send(subject, requestFor(subject, 'sleep-write', { input: { ms: LONG_MS }, runtime }))
  } while (answer.details.failure === 'timeout-before-send' && ++tries < MAX_TRIES)
  return answer
}

const cancel: Case = {
  id: 'time/cancel',
  title: 'a cancel ends the call at once and reaches the tool',
  requirements: ['C2.3', 'C2.4'],
  needs: ['sleep'],
  async run(subject, check) {
    const mark = subject.mint()
    const request = requestFor(subject, 'sleep', {
      input: { ms: LONG_MS, mark },
      runtime: { timeout_ms: LONG_MS },
    })
    const call = subject.start(request)
    const sent = await within(subject.world, SLACK_MS, call.sending())
    check.that('C2.3', 'the call is sent before it is canceled', sent !== LATE)
    // What runs as a program takes a moment to begin.
    await until(subject.world, SLACK_MS, () => subject.sends(mark)?.length !== 0)
    call.cancel()
    const body = await within(subject.world, SLACK_MS, call.answer())
    if (!check.that('C2.3', `an answer within ${SLACK_MS} ms of the cancel`, body !== LATE)) {
      // Without it there is nothing to look at, and the requirement is not met either.
      check.that('C2.4', 'a canceled call is answered', false)
      return
    }
    if (body === LATE) return
    check.equal('C2.4', 'a canceled call', codesOf(readEnvelope(body)), CANCELED)
    if (subject.sends(mark) === undefined) return
    const told = () => subject.sends(mark)?.map(({ stopped }) => stopped)
    await until(subject.world, SLACK_MS, () => told()?.includes(true) === true)
    check.equal('C2.3', 'sends that the tool was told to stop', told(), [true])
  },
}

export const timeCases: readonly Case[] = [timeout, timeoutOfWrite, cancel]
