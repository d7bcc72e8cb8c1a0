// How answers leave: always JSON with the same headers, failures always as an envelope.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Answer, isOutcome } from '../contract/answer.ts'
import type { CallRecord, Trace } from '../contract/call.ts'
import { DEFAULT_OPERATION, traceOf } from '../contract/dialect/decoding.ts'
import type { RefusedCall } from '../contract/dialect/dialect.ts'
import { encodeAnswer } from '../contract/dialect/encode-answer.ts'
import { answerRefused } from '../contract/dialect/refused-answer.ts'
import type { Failure } from '../contract/failure.ts'
import { failureRow } from '../contract/failures.ts'
import { createFailure, fixOf, httpStatusOf } from '../contract/projection.ts'
import { isJsonObject, type JsonObject } from '../util/json.ts'
import type { Edge } from './edge.ts'
import type { RefusalOptions } from './refusal.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** On every answer: what it holds is for this caller, now, and is what its type says. */
export const SAFE_HEADERS = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' } as const

export function sendJson(reply: FastifyReply, status: number, body: unknown): void {
  reply.code(status).header('content-type', JSON_TYPE).send(JSON.stringify(body))
}

/** A refusal of a request that is no call: the same v1 envelope, with an id that only correlates it with the log. */
export function sendRefusal(
  edge: Edge,
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: RefusalOptions,
): void {
  const { status, envelope } = refusalEnvelope(
    refusal,
    edge.runtime.mint,
    readTraceparent(request.headers.traceparent),
  )
  edge.metrics.refused(refusal.failure)
  // What the framework refuses by itself has not been through any hook.
  reply.headers(SAFE_HEADERS)
  if (refusal.headers) reply.headers(refusal.headers)
  setRetryAfter(reply, retryAfterOf({ id: refusal.failure, details: refusal.details ?? {} }))
  sendJson(reply, status, envelope)
}

/** What the runtime refused to do, in the same envelope: about the call `record`, where there is one. */
export function sendFailure(
  edge: Edge,
  request: FastifyRequest,
  reply: FastifyReply,
  failure: Failure,
  record?: CallRecord,
): void {
  const { mint } = edge.runtime
  const refused = answerRefused(unreadCall(mint, readTraceparent(request.headers.traceparent)), failure, 0)
  const answer = record === undefined ? refused : { ...refused, ...aboutCall(record) }
  if (record !== undefined) reply.header('writ-call-id', record.id)
  setRetryAfter(reply, retryAfterOf(failure))
  // Where it is the asking that is wrong, what to do about that comes before what to do about the effect.
  const asked = ['invalid', 'denied'].includes(failureRow(failure.id).state)
  const fix = asked ? fixOf(failure, 'none') : undefined
  sendJson(reply, httpStatusOf(answer), withFix(encodeAnswer('v1', answer), fix))
}

/** What is known of the call that something was asked about: its effect above all. */
function aboutCall(record: CallRecord): Partial<Answer> {
  const { answer } = record
  return {
    callId: record.id,
    requestId: record.requestId,
    state: record.state,
    final: isOutcome(record.state),
    effect: record.effect,
    tool: {
      name: record.tool,
      operation: record.operation,
      ...(record.version === undefined ? {} : { version: record.version }),
      ...answer?.tool,
    },
    ...(answer === undefined
      ? {}
      : { usage: answer.usage, trace: answer.trace, sideEffects: answer.sideEffects }),
  }
}

export function refusalEnvelope(
  refusal: RefusalOptions,
  mint: () => string,
  trace?: Trace,
): { readonly status: number; readonly envelope: JsonObject } {
  const answer = answerRefused(unreadCall(mint, trace), failureOf(refusal), 0)
  return {
    status: refusal.status ?? httpStatusOf(answer),
    envelope: withFix(encodeAnswer('v1', answer), refusal.fix),
  }
}

/** What stands for a call where nothing of one could be read. */
export function unreadCall(mint: () => string, trace: Trace | undefined): RefusedCall {
  const id = mint()
  return {
    id,
    requestId: id,
    freshId: true,
    dialect: 'v1',
    tool: '',
    operation: DEFAULT_OPERATION,
    trace: trace ?? traceOf(undefined, undefined, mint),
    warnings: [],
  }
}

export function failureOf(refusal: RefusalOptions): Failure {
  return createFailure(refusal.failure, {
    ...(refusal.message === undefined ? {} : { message: refusal.message }),
    ...(refusal.details === undefined ? {} : { details: refusal.details }),
  })
}

/** The row's hint serves everyone who meets that row; at the edge a more exact one is known. */
export function withFix(envelope: JsonObject, fix: string | undefined): JsonObject {
  const { error } = envelope
  if (fix === undefined || !isJsonObject(error) || !isJsonObject(error.details)) return envelope
  return { ...envelope, error: { ...error, details: { ...error.details, fix } } }
}

/** A database that is away is looked for again within a second or two. */
const STORE_AWAY_MS = 1000

export function retryAfterOf({ id, details }: Pick<Failure, 'id' | 'details'>): unknown {
  return details.retry_after_ms ?? (id === 'intent-not-recorded' ? STORE_AWAY_MS : undefined)
}

export function setRetryAfter(reply: FastifyReply, retryAfterMs: unknown): void {
  if (typeof retryAfterMs === 'number' && Number.isFinite(retryAfterMs) && retryAfterMs >= 0) {
    reply.header('retry-after', Math.ceil(retryAfterMs / 1000))
  }
}

/** Until when what is prepared can be committed: a caller of any dialect finds it in the same place. */
export function setCommitBy(reply: FastifyReply, commitBy: number | undefined): void {
  if (commitBy !== undefined) reply.header('writ-commit-by', new Date(commitBy).toISOString())
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-|$)/

/** The W3C trace context of the caller. One that is not valid counts as none, as its specification demands. */
export function readTraceparent(header: string | string[] | undefined): Trace | undefined {
  const match = typeof header === 'string' ? TRACEPARENT.exec(header) : null
  const [, traceId, spanId] = match ?? []
  return traceId === undefined || spanId === undefined ? undefined : { traceId, spanId }
}
