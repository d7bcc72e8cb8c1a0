// From a request to a call: strict JSON, the dialect from its shape, and what headers add to it.
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Call, Trace } from '../contract/call.ts'
import type { RefusedCall } from '../contract/dialect/dialect.ts'
import type { Failure } from '../contract/failure.ts'
import { KEY_MAX_LENGTH } from '../contract/schema/common.ts'
import { isJsonObject, type Json } from '../util/json.ts'
import { readBody } from './body.ts'
import type { Edge } from './edge.ts'
import { parseBody } from './json-body.ts'
import { Refusal, type RefusalOptions } from './refusal.ts'
import { failureOf, readTraceparent, unreadCall } from './reply.ts'

export type CallRequest =
  | { readonly ok: true; readonly call: Call }
  | {
      readonly ok: false
      readonly call: RefusedCall
      readonly failure: Failure
      /** Where HTTP has a better status or a better hint than the row. */
      readonly status?: number
      readonly fix?: string
    }

/** A call as it came in, over whatever protocol. */
export interface IncomingCall {
  readonly headers: IncomingHttpHeaders
  /** Every Idempotency-Key header, each by itself. */
  readonly keys: readonly string[] | undefined
  /** Throws a `Refusal` where it cannot be read. */
  readonly body: () => Promise<Buffer>
}

export function httpCall(edge: Pick<Edge, 'bodyLimit'>, request: FastifyRequest): IncomingCall {
  return {
    headers: request.headers,
    keys: request.raw.headersDistinct['idempotency-key'],
    body: () => readBody(request, 'json', edge.bodyLimit),
  }
}

/** Never throws for anything a caller can send: every refusal is kept on record (S8). */
export async function readCallRequest(
  edge: Pick<Edge, 'runtime'>,
  { headers, keys, body: readText }: IncomingCall,
): Promise<CallRequest> {
  const { mint, dialects } = edge.runtime
  const header = readTraceparent(headers.traceparent)
  let body: Json
  try {
    body = parseBody(await readText())
  } catch (error) {
    if (error instanceof Refusal) return refuse(error.options, header, mint)
    throw error
  }
  const decoded = dialects.decode(body, mint)
  const trace = header !== undefined && !hasTrace(body) ? { trace: header } : undefined
  if (!decoded.ok) return { ...decoded, call: { ...decoded.call, ...trace } }
  const key = readKey(keys, decoded.call.key)
  if (!key.ok) return refuseCall(key.refusal, { ...decoded.call, ...trace })
  const callback = headers['writ-callback']
  if (trace === undefined && key.key === undefined && callback === undefined) return decoded
  return {
    ok: true,
    call: {
      ...decoded.call,
      ...trace,
      ...(key.key === undefined ? {} : { key: key.key }),
      ...(callback === undefined ? {} : { callback: String(callback) }),
    },
  }
}

/** Nothing of the request could be read, so that the answer can only be in the native dialect. */
function refuse(refusal: RefusalOptions, header: Trace | undefined, mint: () => string): CallRequest {
  return refuseCall(refusal, unreadCall(mint, header))
}

function refuseCall(refusal: RefusalOptions, call: RefusedCall): CallRequest {
  const { status, fix } = refusal
  return {
    ok: false,
    call,
    failure: failureOf(refusal),
    ...(status === undefined ? {} : { status }),
    ...(fix === undefined ? {} : { fix }),
  }
}

function hasTrace(body: Json): boolean {
  if (!isJsonObject(body)) return false
  const { trace, context } = body
  return (
    (isJsonObject(trace) && Boolean(trace.trace_id)) || (isJsonObject(context) && Boolean(context.trace_id))
  )
}

type Key =
  | { readonly ok: true; readonly key?: string }
  | { readonly ok: false; readonly refusal: RefusalOptions }

/** Printable ASCII, bare or as a quoted string: both are in use for this header. */
const KEY = /^(?:"((?:[\x20\x21\x23-\x5b\x5d-\x7e])+)"|([\x21\x23-\x7e][\x20-\x7e]*))$/

function readKey(headers: readonly string[] | undefined, inBody: string | undefined): Key {
  if (headers === undefined) return { ok: true }
  // Node joins what is sent twice into one text, which would be another key.
  const [header = '', ...more] = headers
  const match = more.length === 0 ? KEY.exec(header) : null
  const key = match?.[1] ?? match?.[2]
  if (key === undefined || key.length > KEY_MAX_LENGTH) {
    return keyRefusal(
      `must be one key of 1 to ${KEY_MAX_LENGTH} printable characters`,
      'Send one short Idempotency-Key, such as a UUID.',
    )
  }
  if (inBody !== undefined && inBody !== key) {
    return keyRefusal('differs from the key in the body', 'Send the key in one place only.')
  }
  return { ok: true, key }
}

function keyRefusal(message: string, fix: string): Key {
  const violations = [{ path: '/headers/idempotency-key', message }]
  return {
    ok: false,
    refusal: {
      failure: 'envelope-invalid',
      message: `The Idempotency-Key header ${message}.`,
      fix,
      details: { violations },
    },
  }
}
