// One HTTP request and what came of it. The only place that talks to the network, and the owner of the sent boundary.
//
// undici calls `onRequestStart` on a connected socket (for TLS: after the handshake, also for a kept-alive one), in the
// same tick and right before it writes the first byte, and writes nothing when the request is aborted inside it. A
// connection that fails never reaches it. So `sending` is called there and nowhere else.
// A request that still waits for its socket cannot be taken back: it is answered at once and stopped when it would start.
import type { Dispatcher } from 'undici'
import { Blocked } from '../egress/dial.ts'
import type { GuardedDispatch } from '../egress/network.ts'
import type { Abort, AbortReason } from '../util/abort.ts'
import type { Reach } from '../util/address-class.ts'
import { type BodyFlaw, createResponseBody, type ResponseBody } from './response-body.ts'
import type { AttemptSink } from './transport.ts'

type Headers = Record<string, string | string[] | undefined>

export interface ExchangeRequest {
  readonly origin: string
  readonly path: string
  readonly method: string
  /** Names and values in turn. */
  readonly headers: string[]
  readonly body: string | null
  /** Decoded bytes that are kept at most. */
  readonly maxBytes: number
  /** A second send does no harm. Networks keep such connections idle for longer than others (S25). */
  readonly repeatHarmless: boolean
  /** What the connection may end at. @default 'public' */
  readonly reach?: Reach
}

export type Exchange =
  /** A whole status line and header came. With a `flaw`, `body` is empty. */
  | {
      readonly kind: 'answered'
      readonly status: number
      readonly headers: Headers
      readonly body: Uint8Array
      readonly flaw?: BodyFlaw
    }
  | { readonly kind: 'broken'; readonly sent: boolean; readonly code: string }
  /** The guard let no connection be made: nothing was sent, and trying again will not help. */
  | { readonly kind: 'blocked'; readonly why: string }
  | { readonly kind: 'aborted'; readonly sent: boolean; readonly reason: AbortReason }

/** Rejects only when the sink throws, and then nothing was sent. */
export function exchange(
  network: Dispatcher,
  request: ExchangeRequest,
  abort: Abort,
  sink: AttemptSink,
): Promise<Exchange> {
  const reason = abort.reason
  if (reason !== undefined) return Promise.resolve({ kind: 'aborted', sent: false, reason })
  return new Promise((resolve, reject) => {
    const handler = new ExchangeHandler(request.maxBytes, abort, sink, resolve, reject)
    const options: GuardedDispatch = {
      origin: request.origin,
      path: request.path,
      method: request.method as Dispatcher.HttpMethod,
      headers: request.headers,
      body: request.body,
      idempotent: request.repeatHarmless,
      reach: request.reach ?? 'public',
      // The attempt's abort is the only clock (S12); undici's own timeouts would be a second opinion.
      headersTimeout: 0,
      bodyTimeout: 0,
    }
    try {
      network.dispatch(options, handler)
    } catch (error) {
      // A literal address out of reach, and dispatchers that do not report through the handler.
      handler.onResponseError(null, error)
    }
  })
}

class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #maxBytes: number
  readonly #sink: AttemptSink
  readonly #resolve: (exchange: Exchange) => void
  readonly #reject: (error: unknown) => void
  readonly #unlisten: () => void
  #controller: Dispatcher.DispatchController | undefined
  #started = false
  #ended = false
  #status = 0
  #headers: Headers = {}
  #body: ResponseBody | undefined

  constructor(
    maxBytes: number,
    abort: Abort,
    sink: AttemptSink,
    resolve: (exchange: Exchange) => void,
    reject: (error: unknown) => void,
  ) {
    this.#maxBytes = maxBytes
    this.#sink = sink
    this.#resolve = resolve
    this.#reject = reject
    this.#unlisten = abort.listen((reason) => {
      this.#end({ kind: 'aborted', sent: this.#started, reason })
      this.#drop()
    })
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#ended) {
      controller.abort(new Error('stopped before it was sent'))
      return
    }
    this.#controller = controller
    if (this.#started) {
      // A dispatcher that sends twice by itself (undici does over HTTP/2): only the attempt loop may do that (S22).
      this.#end({ kind: 'broken', sent: true, code: 'RESEND_REFUSED' })
      this.#drop()
      return
    }
    this.#started = true
    try {
      this.#sink.sending()
    } catch (error) {
      this.#ended = true
      this.#unlisten()
      this.#drop()
      this.#reject(error)
    }
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    // 1xx are words on the way, not the answer.
    if (this.#ended || status < 200) return
    this.#status = status
    this.#headers = headers
    const encoding = headerText(headers, 'content-encoding')
    const plain = encoding === undefined || encoding === 'identity'
    // The declared length is not trusted, but a peer that says it is too large is believed.
    if (plain && Number(headerText(headers, 'content-length')) > this.#maxBytes) {
      this.#flawed('too-large')
      return
    }
    this.#body = createResponseBody({
      encoding,
      cap: this.#maxBytes,
      onDrain: () => controller.resume(),
      onEnd: (body) => this.#end({ kind: 'answered', status, headers, body }),
      onFlaw: (flaw) => this.#flawed(flaw),
    })
    if (this.#body === undefined) this.#flawed('malformed')
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return
    if (this.#body?.write(chunk) === false) controller.pause()
  }

  onResponseEnd(): void {
    if (!this.#ended) this.#body?.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: unknown): void {
    if (this.#ended) return
    const code = codeOf(error)
    if (error instanceof Blocked && !this.#started) {
      this.#end({ kind: 'blocked', why: error.message })
    } else if (this.#status > 0) {
      this.#flawed(isProtocolError(code) ? 'malformed' : 'cut')
    } else {
      this.#end({ kind: 'broken', sent: this.#started, code })
    }
  }

  #flawed(flaw: BodyFlaw): void {
    if (this.#ended) return
    this.#end({ kind: 'answered', status: this.#status, headers: this.#headers, body: NOTHING, flaw })
    this.#drop()
  }

  #end(exchange: Exchange): void {
    if (this.#ended) return
    this.#ended = true
    this.#unlisten()
    this.#resolve(exchange)
  }

  /** Stops what is still under way. Comes after the end, so that undici's own report of it finds nobody. */
  #drop(): void {
    this.#body?.destroy()
    this.#controller?.abort(new Error('stopped'))
  }
}

const NOTHING = new Uint8Array(0)

export function headerText(headers: Headers, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

function codeOf(error: unknown): string {
  const { name, code, data } = (error ?? {}) as { name?: unknown; code?: unknown; data?: unknown }
  if (typeof code === 'string') return code
  // undici's parser errors carry no code. The one that leaves no bytes over is the end of the connection.
  if (name === 'HTTPParserError') return data === '' ? 'HPE_INVALID_EOF_STATE' : 'HPE_INVALID'
  return 'UNKNOWN'
}

/** What came was no HTTP. An end in the middle of a chunk is a cut connection instead. */
export function isProtocolError(code: string): boolean {
  return (code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE') || code === 'UND_ERR_HEADERS_OVERFLOW'
}
