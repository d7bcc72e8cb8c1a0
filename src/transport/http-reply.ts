// From an HTTP answer to a reply, for the transports over HTTP.

import type { ExpectedReply } from '../contract/dialect/dialect.ts'
import type { DialectRegistry } from '../contract/dialect/registry.ts'
import { parseStrictJson } from '../util/strict-json.ts'
import { envelopeReply } from './envelope-reply.ts'
import type { Answered } from './http-post.ts'
import { retryAfterOf, statusRefusal } from './http-status.ts'
import type { Reply, Send } from './transport.ts'

/**
 * The refusal of a status other than 2xx. Where the body is an envelope with an error, the tool's own words name the
 * failure, and the status decides whether it is definite. A success inside of it is not believed.
 */
export function errorStatusReply(
  answered: Answered,
  send: Send,
  dialects: DialectRegistry,
  expected: ExpectedReply,
  now: number,
): Reply {
  const plain = statusRefusal(answered, send.operation, now)
  if (answered.flaw !== undefined || answered.body.length === 0 || answered.status < 400) return plain
  const parsed = parseStrictJson(answered.body)
  if (!parsed.ok || !dialects.looksLikeEnvelope(parsed.value, expected)) return plain
  const reply = dialects.decodeReply(parsed.value, expected)
  if (reply.kind !== 'failure') return plain
  return envelopeReply(reply, answered.body.length, send.operation, {
    httpStatus: answered.status,
    ...retryAfterOf(answered, now),
  })
}

/** Who a reply must be for. */
export function expectedBy(send: Send, idOptional: boolean): ExpectedReply {
  return { requestId: send.requestId, callId: send.callId, idOptional }
}
