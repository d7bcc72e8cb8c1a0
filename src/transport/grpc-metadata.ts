// The headers of a call over gRPC: what the protocol wants, who asks with which key, and the credential last.
import { type OutgoingHttpHeaders, sensitiveHeaders } from 'node:http2'
import { GRPC_PATH, GRPC_TYPE } from '../contract/grpc-service.ts'
import { refuse } from './endpoint.ts'
import { ACCEPT_ENCODING } from './grpc-encoding.ts'
import { traceparent } from './traceparent.ts'
import type { Refusal, Send } from './transport.ts'

/** `timeoutMs`: what is left of the time for this call. */
export type Metadata = (url: URL, timeoutMs: number) => OutgoingHttpHeaders

/** What belongs to the protocol, and would break the call or change its meaning. */
const RESERVED =
  /^(?::|grpc-|(?:connection|content-length|content-type|host|http2-settings|keep-alive|proxy-connection|te|transfer-encoding|upgrade)$)/
const NAME = /^[0-9a-z_.-]+$/
const VALUE = /^[\x20-\x7e]*$/

/** The headers of a send, or why they cannot be written. */
export function metadataOf(send: Send, userAgent: string): Metadata | Refusal {
  const keyHeader = (send.operation.effect.keyed?.header ?? 'idempotency-key').toLowerCase()
  const shown = (send.credentials?.headers ?? []).map(([name, value]) => [name.toLowerCase(), value] as const)
  const [badKey] = [keyHeader].filter((name) => !isFree(name))
  if (badKey !== undefined) return refused('spec.effect.idempotency.keyed.header', badKey)
  const bad = shown.find(([name, value]) => !isFree(name) || !VALUE.test(value))
  if (bad !== undefined) return refused('spec.auth', bad[0])
  const own = {
    'user-agent': userAgent,
    [keyHeader]: send.key,
    'writ-attempt': String(send.attempt),
    traceparent: traceparent(send.trace),
    ...Object.fromEntries(shown),
  }
  return (url, timeoutMs) => ({
    ':method': 'POST',
    ':scheme': url.protocol.slice(0, -1),
    ':authority': url.host,
    ':path': GRPC_PATH,
    te: 'trailers',
    'content-type': GRPC_TYPE,
    'grpc-accept-encoding': ACCEPT_ENCODING,
    'grpc-timeout': grpcTimeout(timeoutMs),
    ...own,
    // Kept out of the tables of compressed headers, on both sides.
    [sensitiveHeaders]: shown.map(([name]) => name),
  })
}

function isFree(name: string): boolean {
  return NAME.test(name) && !RESERVED.test(name) && !name.endsWith('-bin')
}

function refused(path: string, name: string): Refusal {
  return refuse('config-invalid', path, `the header ${name} cannot be sent over gRPC`).refusal
}

/** At most eight digits and a unit. */
export function grpcTimeout(ms: number): string {
  const whole = Math.max(1, Math.ceil(ms))
  return whole < 1e8 ? `${whole}m` : `${Math.min(Math.ceil(whole / 1000), 99_999_999)}S`
}
