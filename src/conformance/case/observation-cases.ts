// Group C7: what is recorded of an execution.
import type { CallEndedEvent, CallEvent } from '../../event/event.ts'
import type { Json } from '../../util/json.ts'
import type { Case } from '../case.ts'
import { objectOf, requestFor, send } from '../envelope.ts'
import type { Subject } from '../subject.ts'

/** Longer than any clock's grain, so that a duration that is not measured shows. */
const SLEEP_MS = 40
/** How far two clocks may be apart. */
const GRAIN_MS = 5

interface Records {
  readonly started: readonly CallEvent[]
  readonly ended: readonly CallEndedEvent[]
}

function recordsOf(subject: Subject, requestId: Json | undefined): Records {
  const events = subject.events()
  return {
    started: events.flatMap(({ name, event }) =>
      name === 'call:started' && event.tool_request_id === requestId ? [event] : [],
    ),
    ended: events.flatMap(({ name, event }) =>
      name === 'call:ended' && event.tool_request_id === requestId ? [event] : [],
    ),
  }
}

const lifecycle: Case = {
  id: 'observation/lifecycle',
  title: 'an execution has one start and one end, tied together and to its trace',
  requirements: ['C7.1', 'C7.2'],
  needs: ['echo', 'fail'],
  async run(subject, check) {
    const mark = subject.mint()
    const trace = { trace_id: subject.mint().replaceAll('-', ''), span_id: subject.mint().slice(-12) }
    const request = requestFor(subject, 'echo', { input: { mark }, trace })
    const answer = await send(subject, request)
    const { started, ended } = recordsOf(subject, request.request_id)
    check.equal('C7.1', 'start records of a success', started.length, 1)
    check.equal('C7.1', 'end records of a success', ended.length, 1)
    const callId = objectOf(answer.body.provenance).call_id
    for (const record of [...started, ...ended]) {
      check.equal('C7.1', 'the call that a record names', record.call_id, callId)
      check.equal('C7.2', 'the trace of a record', [record.trace_id, record.span_id], Object.values(trace))
    }
    check.equal('C7.2', 'the trace of the answer', answer.body.trace, trace)
    const sends = subject.sends(mark)
    if (sends !== undefined) {
      check.equal(
        'C7.2',
        'the trace that the tool saw',
        sends.map(({ traceId }) => traceId),
        [trace.trace_id],
      )
    }

    const failing = requestFor(subject, 'fail-again', {
      input: { code: 'execution_failed', retryable: true, status: 503 },
    })
    await send(subject, failing)
    const retried = recordsOf(subject, failing.request_id)
    check.equal('C7.1', 'start records of a call with three attempts', retried.started.length, 1)
    check.equal('C7.1', 'end records of a call with three attempts', retried.ended.length, 1)
  },
}

const duration: Case = {
  id: 'observation/duration',
  title: 'the end record says how long it took and how it ended',
  requirements: ['C7.3'],
  needs: ['sleep'],
  async run(subject, check) {
    const request = requestFor(subject, 'sleep', { input: { ms: SLEEP_MS } })
    const { clock } = subject.world
    const began = clock.monotonic()
    const answer = await send(subject, request)
    // A tool that does not sleep long enough breaks another requirement.
    const least = Math.min(SLEEP_MS, Math.floor(clock.monotonic() - began)) - GRAIN_MS
    const { ended } = recordsOf(subject, request.request_id)
    check.equal('C7.3', 'end records', ended.length, 1)
    for (const record of ended) {
      check.equal('C7.3', 'terminal status', record.tool_status, answer.status)
      const long = record.duration_ms >= least
      check.that('C7.3', `a duration of at least ${least} ms`, long, record.duration_ms)
      const inOrder = Date.parse(record.ended_at) >= Date.parse(record.started_at)
      check.that('C7.3', 'an end after the start', inOrder, [record.started_at, record.ended_at])
    }
  },
}

const reasons: Case = {
  id: 'observation/reasons',
  title: 'a failed and a denied call are recorded with their reason',
  requirements: ['C7.3', 'C7.4'],
  needs: ['fail'],
  async run(subject, check) {
    const failing = requestFor(subject, 'fail', {
      input: { code: 'auth_forbidden', status: 403, retryable: false },
    })
    await send(subject, failing)
    const forbidden = requestFor(subject, 'echo', { input: {} })
    await send(subject, forbidden, { without: 'everything' })
    const expected = [
      [failing, 'error', 'tool_auth_forbidden'],
      [forbidden, 'denied', 'tool_permission_denied'],
    ] as const
    for (const [request, status, reason] of expected) {
      const { ended } = recordsOf(subject, request.request_id)
      check.equal(
        'C7.3',
        `terminal status of a call with ${status}`,
        ended.map((record) => record.tool_status),
        [status],
      )
      check.equal(
        'C7.4',
        `reason of a call with ${status}`,
        ended.map((record) => record.tool_reason),
        [reason],
      )
    }
  },
}

export const observationCases: readonly Case[] = [lifecycle, duration, reasons]
