// One unary call over a connection: its headers and message out, one message and a status back.
import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2'
import type { Abort, AbortReason } from '../util/abort.ts'
import { createFrameReader, type FrameFlaw, type FrameReader, frameOf } from '../util/grpc-frame.ts'
import type { Channel } from './grpc-connection.ts'

export interface UnaryRequest {
  readonly headers: OutgoingHttpHeaders
  readonly text: string
  readonly maxBytes: number
}

export type UnaryEnd =
  /** The stream ended by itself. `headers` and `trailers` are what came of them. */
  | {
      readonly kind: 'ended'
      readonly headers: IncomingHttpHeaders
      readonly trailers: IncomingHttpHeaders
      /** As it came. */
      readonly message: Uint8Array | FrameFlaw | 'undecodable' | undefined
      readonly compressed: boolean
    }
  /** `refused`: the peer never looked at the call. */
  | { readonly kind: 'broken'; readonly refused: boolean; readonly code: string }
  | { readonly kind: 'aborted'; readonly reason: AbortReason; readonly sent: boolean }

/** Sends at once: `sending` is called before, and only where something can be sent. What it throws is thrown. */
export function unaryCall(
  channel: Channel,
  request: UnaryRequest,
  abort: Abort,
  sending: () => void,
): Promise<UnaryEnd> {
  return new Promise((resolve) => {
    if (abort.reason !== undefined) {
      resolve({ kind: 'aborted', reason: abort.reason, sent: false })
      return
    }
    if (!channel.isOpen()) {
      resolve({ kind: 'broken', refused: true, code: 'it had ended before' })
      return
    }
    sending()
    const stream = channel.request(request.headers)
    const reader = createFrameReader(request.maxBytes, { compressed: true })
    let headers: IncomingHttpHeaders = {}
    let trailers: IncomingHttpHeaders = {}
    let code = ''
    let over = false
    let unlisten = () => {}
    const end = (what: UnaryEnd): void => {
      if (over) return
      over = true
      unlisten()
      resolve(what)
    }
    const drop = (): void => channel.cancel(stream)
    stream.on('response', (came) => {
      headers = came
    })
    stream.on('trailers', (came) => {
      trailers = came
    })
    stream.on('data', (chunk: Buffer) => {
      if (over || reader.push(chunk) === undefined) return
      // What follows cannot mend it; the answer is known.
      end(endedWith(headers, trailers, reader))
      drop()
    })
    stream.on('error', (error: Error & { readonly code?: string }) => {
      code = error.code ?? 'ERR_HTTP2_STREAM_ERROR'
    })
    stream.on('close', () => {
      const answered = Object.hasOwn(headers, ':status')
      const whole = stream.rstCode === constants.NGHTTP2_NO_ERROR && code === ''
      // Some peers reset the rest of a call that they have answered in full.
      const told = Object.hasOwn(headers, 'grpc-status') || Object.hasOwn(trailers, 'grpc-status')
      if (answered && (whole || told)) {
        end(endedWith(headers, trailers, reader))
        return
      }
      const refused =
        !answered && (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM || channel.wasIgnored(stream))
      end({ kind: 'broken', refused, code: code === '' ? `RST_STREAM ${stream.rstCode}` : code })
    })
    stream.end(frameOf(request.text))
    unlisten = abort.listen((reason) => {
      end({ kind: 'aborted', reason, sent: true })
      drop()
    })
  })
}

function endedWith(
  headers: IncomingHttpHeaders,
  trailers: IncomingHttpHeaders,
  reader: FrameReader,
): UnaryEnd {
  return { kind: 'ended', headers, trailers, message: reader.end(), compressed: reader.compressed }
}
