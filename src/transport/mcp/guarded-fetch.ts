// A `fetch` for the SDK that goes out through the guard: only to the server's own address, without redirects, with fresh
// credentials in each request, and with the very moment before the first byte leaves.
import { type Dispatcher, fetch as undiciFetch } from 'undici'
import type { Presented } from '../../credential/credential.ts'
import type { GuardedDispatch } from '../../egress/network.ts'
import type { Reach } from '../../util/address-class.ts'
import { boundedBody } from './bounded-body.ts'
import type { WireCall } from './wire.ts'

export interface GuardedFetchOptions {
  readonly network: Dispatcher
  readonly endpoint: URL
  readonly reach: Reach
  readonly userAgent: string
  /** What a request that is no call shows; throws where it has nothing to show. */
  credentials(): Promise<Presented | undefined>
}

/** `call`: the tool call that the request carries. */
export type GuardedFetch = (
  url: string | URL,
  init: RequestInit | undefined,
  call: WireCall | undefined,
) => Promise<Response>

/** Of a reply that is no answer to a call. */
const OTHER_BYTES = 8 * 1_048_576

/** Of a stream in which the server speaks by itself; then it is opened anew, a few times. */
const STREAM_BYTES = 256 * 1_048_576

/** The server answered with a redirect: it is not followed (S25). */
export class Redirected extends Error {
  override readonly name = 'Redirected'
}

export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const { network, endpoint, reach, userAgent } = options

  /** The same network, that says when the request of this call leaves. */
  function dispatcherFor(call: WireCall | undefined, method: string): Dispatcher {
    return network.compose((dispatch) => (opts, handler) => {
      const guarded: GuardedDispatch = {
        ...opts,
        reach,
        idempotent: call?.repeatHarmless ?? method === 'GET',
        // The abort of the attempt is the only clock (S12).
        headersTimeout: 0,
        bodyTimeout: 0,
      }
      return dispatch(guarded, call === undefined ? handler : sendingHandler(handler, call))
    })
  }

  return async (url, init, call) => {
    const target = new URL(url)
    if (target.origin !== endpoint.origin) throw new Error(`${target.origin} is not the endpoint`)
    const headers = new Headers(init?.headers)
    headers.set('user-agent', userAgent)
    const presented = call === undefined ? await options.credentials() : call.presented
    for (const [name, value] of presented?.headers ?? []) headers.set(name, value)
    const method = init?.method ?? 'GET'
    // The types of undici and those of Node are of two versions of one thing.
    const response = (await undiciFetch(target, {
      method,
      headers: [...headers],
      body: (init?.body ?? null) as string | null,
      signal: init?.signal ?? null,
      redirect: 'manual',
      dispatcher: dispatcherFor(call, method),
    })) as unknown as Response
    call?.answered({ status: response.status, headers: Object.fromEntries(response.headers) })
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel().catch(() => {})
      throw new Redirected(`the server answered HTTP ${response.status}, a redirect, which is not followed`)
    }
    if (response.body === null) return response
    const maxBytes = call?.maxBytes ?? OTHER_BYTES
    const streamed = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
    if (!streamed && isShort(response.headers, maxBytes)) return response
    const body = boundedBody(response.body, {
      maxBytes,
      perEvent: streamed && call === undefined,
      maxTotal: STREAM_BYTES,
      tooLarge: () => call?.flawed({ kind: 'too-large' }),
      ended(resumable) {
        // The SDK waits for an answer that a stream without ids cannot bring any more.
        if (streamed && !resumable) call?.flawed({ kind: 'cut', why: 'the stream ended before its reply' })
      },
    })
    const { status, statusText } = response
    return new Response(body, { status, statusText, headers: response.headers })
  }
}

/** It says how long it is, and the client reads no more than that; what is unpacked on the way may become longer. */
function isShort(headers: Headers, maxBytes: number): boolean {
  const length = headers.get('content-length')
  return length !== null && Number(length) <= maxBytes && headers.get('content-encoding') === null
}

/** undici starts a request on a connected socket, right before it writes the first byte: see http-exchange.ts. */
function sendingHandler(handler: Dispatcher.DispatchHandler, call: WireCall): Dispatcher.DispatchHandler {
  let started = false
  return {
    onRequestStart(controller, context) {
      // A dispatcher that sends twice by itself: only the attempt loop may do that (S22).
      if (started) {
        controller.abort(new Error('sent already'))
        return
      }
      started = true
      try {
        call.sending()
      } catch (error) {
        controller.abort(error instanceof Error ? error : new Error('stopped before it was sent'))
        return
      }
      handler.onRequestStart?.(controller, context)
    },
    onRequestUpgrade: (controller, status, headers, socket) =>
      handler.onRequestUpgrade?.(controller, status, headers, socket),
    onResponseStart: (controller, status, headers, message) =>
      handler.onResponseStart?.(controller, status, headers, message),
    onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
    onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
    onResponseError: (controller, error) => handler.onResponseError?.(controller, error),
  }
}
