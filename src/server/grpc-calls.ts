// Calls over gRPC: the same authentication, the same envelopes and the same way through the runtime as over HTTP.
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { Answer } from '../contract/answer.ts'
import { encodeAnswer } from '../contract/dialect/encode-answer.ts'
import { GRPC_STATUS } from '../contract/failures.ts'
import { isGrpcType } from '../contract/grpc-service.ts'
import { fixOf } from '../contract/projection.ts'
import type { Authenticate } from '../identity/authenticate.ts'
import type { CallHandle } from '../runtime-api.ts'
import { askedNamespace, authenticateRequest } from './auth.ts'
import { CallerGone } from './body.ts'
import { inNamespaceOf, refuseTwoNamespaces } from './call-namespace.ts'
import { readCallRequest } from './call-request.ts'
import type { Edge } from './edge.ts'
import { CompressedMessage, readMessage } from './grpc-message.ts'
import {
  endCompressed,
  endWithMessage,
  endWithStatus,
  type Meta,
  readTimeout,
  statusOfFailure,
  UNIMPLEMENTED,
} from './grpc-status.ts'
import { Refusal, type RefusalOptions } from './refusal.ts'
import { retryAfterOf } from './reply.ts'
import { shuttingDown } from './routing.ts'
import { refusalOf } from './unexpected.ts'

export type GrpcEdge = Pick<Edge, 'runtime' | 'world' | 'metrics' | 'logger' | 'bodyLimit' | 'draining'> & {
  readonly authenticate: Authenticate
  /** From the first byte of a request to its last. */
  readonly requestTimeoutMs: number
}

export interface GrpcRequest {
  readonly stream: ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
  /** As they came: names and values in turn. */
  readonly rawHeaders: readonly string[]
}

/** Never throws: whatever goes wrong is told, or is a fault that the log has. */
export async function serveExecute(edge: GrpcEdge, request: GrpcRequest): Promise<void> {
  const { stream, headers } = request
  try {
    await execute(edge, request)
  } catch (error) {
    if (error instanceof CallerGone) return
    if (error instanceof CompressedMessage) {
      edge.metrics.refused('body-unreadable')
      endCompressed(stream, encodingOf(headers))
      return
    }
    const refusal = error instanceof Refusal ? error.options : refusalOf(error)
    if (refusal.failure === 'internal')
      edge.logger?.error({ err: error, method: 'gRPC', route: headers[':path'] }, 'request failed')
    edge.metrics.refused(refusal.failure)
    endWithRefusal(stream, refusal)
  }
}

async function execute(edge: GrpcEdge, { stream, headers, rawHeaders }: GrpcRequest): Promise<void> {
  const began = edge.world.clock.monotonic()
  if (edge.draining()) throw shuttingDown()
  const waitMs = timeoutOf(headers)
  const asking = { headers, query: {} }
  const caller = await authenticateRequest(asking, edge.authenticate, edge.metrics)
  if (!isGrpcType(headers['content-type'])) {
    const message = 'The messages of this service are JSON. Fix: send application/grpc+json.'
    endWithStatus(stream, UNIMPLEMENTED, message)
    return
  }
  const keys = valuesOf(rawHeaders, 'idempotency-key')
  const asked = await readCallRequest(edge, {
    headers,
    keys,
    body: () => readMessage(edge, stream, edge.bodyLimit),
  })
  refuseTwoNamespaces(asked.call, askedNamespace(asking))
  const door = edge.runtime.as(inNamespaceOf(asked.call, caller))
  if (!asked.ok) {
    const answer = door.reject(asked.call, asked.failure)
    const { fix = fixOf(asked.failure, 'none') } = asked
    endWithRefusal(stream, { failure: asked.failure.id, message: asked.failure.message, fix }, metaOf(answer))
    return
  }
  const left = waitMs === undefined ? undefined : waitMs - (edge.world.clock.monotonic() - began)
  if (left !== undefined && left <= 0) {
    endWithStatus(stream, GRPC_STATUS.DEADLINE_EXCEEDED, 'The deadline was over before anything was run.')
    return
  }
  const handle = door.start(asked.call)
  listenForHangUp(stream, handle)
  const answer = await handle.answer(left === undefined ? {} : { waitMs: left })
  const meta = asked.call.dryRun ? {} : metaOf(answer)
  if (answer.failure === undefined && !answer.final && answer.state !== 'prepared') {
    // Its own deadline is over: it has left (S11). What it has caused goes on, and is found by its id.
    handle.hangUp()
    const message = `The call is ${answer.state} when the deadline is over. Fix: look at it with GET /v1/calls/${answer.callId}, or call again with the same key.`
    endWithStatus(stream, GRPC_STATUS.DEADLINE_EXCEEDED, message, meta)
    return
  }
  endWithMessage(stream, JSON.stringify(encodeAnswer(asked.call.dialect, answer)), meta)
}

function endWithRefusal(stream: ServerHttp2Stream, refusal: RefusalOptions, meta: Meta = {}): void {
  const { failure, message, fix, details = {} } = refusal
  const wait = retryAfterOf({ id: failure, details })
  const words = [message ?? failure, ...(fix === undefined ? [] : [`Fix: ${fix}`])].join(' ')
  endWithStatus(stream, statusOfFailure(failure), words, {
    ...meta,
    ...(typeof wait === 'number' ? { 'grpc-retry-pushback-ms': String(Math.ceil(wait)) } : {}),
  })
}

function metaOf({ callId }: Answer): Meta {
  return { 'writ-call-id': callId }
}

/** A caller that leaves before its answer ends an unshared read-only call, and nothing else (S11). */
function listenForHangUp(stream: ServerHttp2Stream, handle: CallHandle): void {
  if (stream.destroyed) handle.hangUp()
  else
    stream.once('close', () => {
      if (!stream.headersSent) handle.hangUp()
    })
}

function timeoutOf(headers: IncomingHttpHeaders): number | undefined {
  const text = headers['grpc-timeout']
  if (text === undefined) return undefined
  const ms = typeof text === 'string' ? readTimeout(text) : null
  if (ms !== null) return ms
  throw new Refusal({
    failure: 'envelope-invalid',
    message: 'The grpc-timeout header is no time.',
    fix: 'Send up to eight digits and one of H, M, S, m, u, n.',
  })
}

export function encodingOf({ 'grpc-encoding': encoding }: IncomingHttpHeaders): string | undefined {
  return Array.isArray(encoding) ? encoding[0] : encoding
}

/** Each value of a header that must be sent once. */
function valuesOf(rawHeaders: readonly string[], name: string): readonly string[] | undefined {
  const values = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1] === name)
  return values.length === 0 ? undefined : values
}
