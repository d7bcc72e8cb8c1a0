// What a tool of long work says, at once, when it is asked, or by itself: an end, or that it is still at it.

import type { ToolReply } from '../contract/dialect/dialect.ts'
import type { DialectRegistry } from '../contract/dialect/registry.ts'
import { isJsonObject, type Json } from '../util/json.ts'
import { parseStrictJson } from '../util/strict-json.ts'
import { envelopeReply } from './envelope-reply.ts'
import { headerText } from './http-exchange.ts'
import type { Answered } from './http-post.ts'
import { errorStatusReply, expectedBy } from './http-reply.ts'
import { flawRefusal, isSuccessStatus, parseRetryAfter, statusRefusal } from './http-status.ts'
import type { Accepted, Reply, Send } from './transport.ts'

/** How often the end is asked for where the tool declares nothing. */
const POLL_MS = 2_000
/** A tool that asks for more patience than this is asked all the same. */
const LONGEST_PAUSE_MS = 3_600_000
/** And one that says "at once" each time does not get a flood. */
const SHORTEST_PAUSE_MS = 500
/** How long after it has taken work on a tool may not know it yet: its own replicas may have to hear of it. */
const NOT_YET_MS = 30_000

/** Words for work that has not ended. */
const UNDER_WAY: ReadonlySet<Json | undefined> = new Set([
  'accepted',
  'pending',
  'queued',
  'running',
  'in_progress',
  'processing',
])

export function pollMsOf({ tool }: Pick<Send, 'tool'>): number {
  return tool.webhook?.pollMs ?? POLL_MS
}

/** What came back on the request itself. */
export function readSubmitted(answered: Answered, send: Send, dialects: DialectRegistry, now: number): Reply {
  const { status, flaw, body } = answered
  if (!isSuccessStatus(status))
    return errorStatusReply(answered, send, dialects, expectedBy(send, false), now)
  if (status !== 200) return stillAt(answered, send, now)
  if (flaw !== undefined) return flawRefusal(flaw, status, send)
  return readBody(body, send, dialects, { answered, now })
}

/**
 * What the tool said when it was asked. Being refused an answer says nothing about the work: only an envelope does. What
 * may be otherwise at the next time is asked again.
 */
export function readPolled(
  answered: Answered,
  send: Send,
  dialects: DialectRegistry,
  about: { readonly now: number; readonly acceptedAt: number },
): Reply {
  const { status, flaw } = answered
  const { now } = about
  if (status >= 500 || status === 408 || status === 425 || status === 429 || flaw === 'cut') {
    return { ...stillAt(answered, send, now), missed: `HTTP ${status}` }
  }
  if (isSuccessStatus(status)) return readSubmitted(answered, send, dialects, now)
  const said = envelopeIn(answered, send, dialects)
  if (said !== undefined) return envelopeReply(said, answered.body.length, send.operation)
  if (status === 404 && now - about.acceptedAt < NOT_YET_MS) return stillAt(answered, send, now)
  return { ...statusRefusal(answered, send.operation, now), definite: false }
}

/** The body of a report that the tool has sent by itself. */
export function readReported(body: Uint8Array, send: Send, dialects: DialectRegistry): Reply {
  return readBody(body, send, dialects)
}

function readBody(
  body: Uint8Array,
  send: Send,
  dialects: DialectRegistry,
  came?: { readonly answered: Answered; readonly now: number },
): Reply {
  const parsed = parseStrictJson(body)
  if (parsed.ok && isUnderWay(parsed.value, send)) {
    return came === undefined
      ? { kind: 'accepted', pollInMs: pollMsOf(send) }
      : stillAt(came.answered, send, came.now)
  }
  const reply = parsed.ok
    ? dialects.decodeReply(parsed.value, expectedBy(send, false))
    : { kind: 'malformed' as const, violations: parsed.violations }
  return envelopeReply(reply, body.length, send.operation)
}

/** Work of another request is no news of this one. */
function isUnderWay(value: Json, { requestId, callId }: Send): boolean {
  if (!isJsonObject(value) || !UNDER_WAY.has(value.status)) return false
  const id = value.request_id ?? value.call_id
  return id === undefined || id === requestId || id === callId
}

/** The pause that the tool asks for holds once. */
function stillAt({ headers }: Answered, send: Send, now: number): Accepted {
  const own = pollMsOf(send)
  const asked = parseRetryAfter(headerText(headers, 'retry-after'), now)
  if (asked === undefined) return { kind: 'accepted', pollInMs: own }
  const shortest = Math.min(own, SHORTEST_PAUSE_MS)
  return { kind: 'accepted', pollInMs: Math.min(Math.max(asked, shortest), LONGEST_PAUSE_MS) }
}

function envelopeIn({ flaw, body }: Answered, send: Send, dialects: DialectRegistry): ToolReply | undefined {
  const parsed = flaw === undefined && body.length > 0 ? parseStrictJson(body) : undefined
  const expected = expectedBy(send, false)
  if (parsed?.ok !== true || !dialects.looksLikeEnvelope(parsed.value, expected)) return undefined
  const reply = dialects.decodeReply(parsed.value, expected)
  return reply.kind === 'failure' ? reply : undefined
}
