// Answers to what is not even HTTP: too much header, too slow, or bytes that no parser takes.
import type { Socket } from 'node:net'
import type { RefusalOptions } from './refusal.ts'
import { JSON_TYPE, refusalEnvelope } from './reply.ts'

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Payload Too Large',
  431: 'Request Header Fields Too Large',
}

/** Written by hand: there is no request, so there is no response to write it with. */
export function answerClientError(
  error: { readonly code?: string },
  socket: Socket,
  mint: () => string,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, envelope } = refusalEnvelope(refusalOf(error.code), mint)
  const body = JSON.stringify(envelope)
  const head = [
    `HTTP/1.1 ${status} ${REASONS[status] ?? 'Bad Request'}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'x-content-type-options: nosniff',
    'cache-control: no-store',
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}

function refusalOf(code: string | undefined): RefusalOptions {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return {
        failure: 'input-too-large',
        status: 431,
        message: 'The headers of the request are too large.',
        fix: 'Send at most 16 KiB of headers.',
        details: { limit_bytes: 16 * 1024 },
      }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return {
        failure: 'body-unreadable',
        status: 408,
        message: 'The request did not arrive in time.',
        fix: 'Send it again, without pauses.',
      }
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return {
        failure: 'input-too-large',
        status: 413,
        message: 'The chunk extensions of the body are too large.',
        fix: 'Send the body without chunk extensions.',
        details: { limit_bytes: 16 * 1024 },
      }
    default:
      return {
        failure: 'body-unreadable',
        status: 400,
        message: 'The bytes are not an HTTP/1.1 request.',
        fix: 'Speak HTTP/1.1; this server has no TLS of its own.',
      }
  }
}
