// What came of a call over gRPC, as a reply: a status that is not OK, a message that cannot be used, or an envelope.
import type { DialectRegistry } from '../contract/dialect/registry.ts'
import { isGrpcType } from '../contract/grpc-service.ts'
import type { EgressFailed } from '../egress/egress-failed.ts'
import { parseStrictJson } from '../util/strict-json.ts'
import { abortRefusal } from './abort-refusal.ts'
import { envelopeReply } from './envelope-reply.ts'
import type { UnaryEnd } from './grpc-call.ts'
import { grpcRefusal, isOk, readGrpcStatus, readPushback } from './grpc-status.ts'
import { expectedBy } from './http-reply.ts'
import { isSuccessStatus, parseRetryAfter, statusRefusal } from './http-status.ts'
import type { Refusal, Reply, Send } from './transport.ts'

type Ended = Extract<UnaryEnd, { kind: 'ended' }>

const FLAWS = {
  compressed: 'is compressed in a way that was not offered (grpc-encoding: gzip is)',
  undecodable: 'is no gzip, although it says so',
  several: 'has more than one message',
}

export function readUnary(end: UnaryEnd, send: Send, dialects: DialectRegistry, now: number): Reply {
  if (end.kind === 'aborted') return abortRefusal(end.reason, end.sent, send)
  if (end.kind === 'broken')
    return isLate(end, send, now) ? abortRefusal('timeout', true, send) : brokenRefusal(end)
  return statusReply(end, send, now) ?? messageReply(end, send, dialects)
}

/** A tool that was told its time may give a call up, and reset its stream, a moment before that is noticed here. */
function isLate({ refused }: Extract<UnaryEnd, { kind: 'broken' }>, send: Send, now: number): boolean {
  return !refused && now >= send.deadlineUnixMs - TIME_UNIT_MS
}

/** The time is told in whole milliseconds, and the deadline rounded down to one. */
const TIME_UNIT_MS = 1

/** undefined where the status says that all is well, or that it has not come. */
function statusReply({ headers, trailers }: Ended, { operation }: Send, now: number): Refusal | undefined {
  const http = Number(headers[':status'])
  const word = (name: string) => textOf(trailers[name] ?? headers[name])
  const said = readGrpcStatus(word('grpc-status'))
  if (said !== undefined && isOk(said)) return undefined
  const wait = readPushback(word('grpc-retry-pushback-ms')) ?? parseRetryAfter(word('retry-after'), now)
  if (said !== undefined) return grpcRefusal(said, word('grpc-message'), operation, wait)
  if (isSuccessStatus(http)) return undefined
  // Something on the way answered, that does not know of gRPC.
  return statusRefusal({ kind: 'answered', status: http, headers, body: new Uint8Array(0) }, operation, now)
}

function messageReply(end: Ended, send: Send, dialects: DialectRegistry): Reply {
  const { headers, trailers, message } = end
  if (message === 'too-large') return tooLarge(send)
  if (!isGrpcType(textOf(headers['content-type'])))
    return malformed('the reply of the tool is not gRPC with JSON messages')
  if (message === 'compressed' || message === 'undecodable' || message === 'several')
    return malformed(`the reply of the tool ${FLAWS[message]}`)
  if (message === 'cut') return cut()
  if (readGrpcStatus(textOf(trailers['grpc-status'] ?? headers['grpc-status'])) === undefined)
    return malformed('the reply of the tool has no grpc-status')
  if (message === undefined) return malformed('the reply of the tool has no message')
  const parsed = parseStrictJson(message)
  const reply = parsed.ok
    ? dialects.decodeReply(parsed.value, expectedBy(send, false))
    : { kind: 'malformed' as const, violations: parsed.violations }
  return envelopeReply(reply, message.byteLength, send.operation)
}

/** Nothing was sent. */
export function unreachedRefusal(failed: EgressFailed): Refusal {
  const blocked = failed.reason === 'refused'
  return {
    kind: 'failure',
    failure: blocked ? 'egress-denied' : 'connect-failed',
    message: blocked
      ? `${failed.message}, which this tool may not reach`
      : `the connection to the tool failed before anything was sent (${failed.message})`,
    ...(blocked ? { details: { path: 'spec.egress' } } : {}),
    definite: true,
  }
}

function brokenRefusal({ refused, code }: Extract<UnaryEnd, { kind: 'broken' }>): Refusal {
  return {
    kind: 'failure',
    failure: 'connect-failed',
    message: refused
      ? `the tool never looked at the call: it refused it, or ended the connection (${code})`
      : `the connection to the tool ended before its reply (${code})`,
    details: { network_error: code },
    definite: refused,
  }
}

function cut(): Refusal {
  const message = 'the reply of the tool ended in the middle of its message'
  return { kind: 'failure', failure: 'connect-failed', message, definite: false }
}

function malformed(message: string): Refusal {
  const violations = [{ path: '', message }]
  return { kind: 'failure', failure: 'reply-malformed', message, details: { violations }, definite: false }
}

function tooLarge({ tool }: Send): Refusal {
  return {
    kind: 'failure',
    failure: 'output-too-large',
    message: 'the reply is larger than the limit; reading stopped there',
    details: { limit_bytes: tool.limits.outputBytes },
    definite: false,
  }
}

function textOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
