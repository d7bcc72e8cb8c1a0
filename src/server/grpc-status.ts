// How a call over gRPC ends: with a message and OK, or with a status and words. Nothing else is ever answered.
import type { ServerHttp2Stream } from 'node:http2'
import { type FailureId, failureRow, GRPC_STATUS } from '../contract/failures.ts'
import { GRPC_TYPE } from '../contract/grpc-service.ts'
import { frameOf } from '../util/grpc-frame.ts'

/** In no row of the failure table: no method of ours, or an encoding that is not read. */
export const UNIMPLEMENTED = 12
export const NOT_FOUND = GRPC_STATUS.NOT_FOUND

const HEADERS = { ':status': 200, 'content-type': GRPC_TYPE, 'cache-control': 'no-store' } as const
const MESSAGE_LENGTH = 1024

export type Meta = Readonly<Record<string, string>>

export function endWithMessage(stream: ServerHttp2Stream, text: string, meta: Meta = {}): void {
  if (stream.destroyed || stream.headersSent) return
  stream.respond({ ...HEADERS, ...meta }, { waitForTrailers: true })
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
  stream.end(frameOf(text))
}

export function endWithStatus(
  stream: ServerHttp2Stream,
  status: number,
  message: string,
  meta: Meta = {},
): void {
  if (stream.destroyed || stream.headersSent) return
  const words = encodeMessage(message)
  stream.respond(
    { ...HEADERS, ...meta, 'grpc-status': String(status), 'grpc-message': words },
    { endStream: true },
  )
}

/** As the protocol says it: what is read is named, and a flag without the name of an encoding is a fault of the caller. */
export function endCompressed(stream: ServerHttp2Stream, encoding: string | undefined): void {
  const meta = { 'grpc-accept-encoding': 'identity' }
  if (encoding === undefined || encoding === 'identity') {
    const message = 'The message has its Compressed-Flag set, and no grpc-encoding. Fix: send it as it is.'
    endWithStatus(stream, GRPC_STATUS.INTERNAL, message, meta)
  } else {
    const named = `The message is compressed (${encoding.slice(0, 32)}); what is read is identity.`
    endWithStatus(stream, UNIMPLEMENTED, `${named} Fix: send it as it is.`, meta)
  }
}

/** S31. */
export function statusOfFailure(id: FailureId): number {
  return GRPC_STATUS[failureRow(id).grpc]
}

/** Percent-encoded UTF-8, as the protocol wants it. */
function encodeMessage(message: string): string {
  return Array.from(Buffer.from(message.slice(0, MESSAGE_LENGTH)), (byte) =>
    byte < 0x20 || byte > 0x7e || byte === 0x25
      ? `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
      : String.fromCharCode(byte),
  ).join('')
}

const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
}

/** The `grpc-timeout` of a caller in milliseconds; null for what is none. */
export function readTimeout(text: string): number | null {
  const [, digits, unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? []
  const ms = UNIT_MS[unit]
  return digits === undefined || ms === undefined ? null : Number(digits) * ms
}
