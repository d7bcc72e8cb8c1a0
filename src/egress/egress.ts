// The one way out for everything that is no tool call: webhooks, keys of issuers, mail.
//
// Every address is checked here before a byte leaves, and again as what is dialled: a name is not the place it stands for.
import type { Socket } from 'node:net'
import { type Dispatcher, request } from 'undici'
import type { Reach } from '../util/address-class.ts'
import type { World } from '../util/world.ts'
import { checkAddress, type EgressRule } from './check-address.ts'
import { Blocked, dial } from './dial.ts'
import { EgressFailed } from './egress-failed.ts'
import { resolverOf, withReach } from './network.ts'

export interface EgressRequest {
  readonly url: string
  /** @default 'GET' */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** From the start to the last byte of the reply. @default 10 s */
  readonly timeoutMs?: number
  /** Of the reply's body. @default 1 MiB */
  readonly maxBytes?: number
}

export interface EgressReply {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

export interface EgressSocket {
  readonly host: string
  readonly port: number
  readonly scheme: 'smtp' | 'smtps'
  /** To connect. @default 10 s */
  readonly timeoutMs?: number
}

export interface Egress {
  /** Throws `EgressFailed` with the reason `refused` for an address that nothing may be sent to. */
  check(url: string): URL
  /** Any status is a reply, a redirect too: none is followed. Rejects with `EgressFailed` where there is no whole one. */
  send(request: EgressRequest): Promise<EgressReply>
  /** A connection for a protocol that is not HTTP. */
  open(to: EgressSocket): Promise<Socket>
}

export interface EgressOptions {
  readonly world: Pick<World, 'after' | 'network'>
  /** What its user may reach, beside what holds for all. @default any address */
  readonly allow?: EgressRule
  /** How far in an address may lie. @default 'public' */
  readonly reach?: Reach | ((url: URL) => Reach)
}

const TIMEOUT_MS = 10_000
const MAX_BYTES = 1024 * 1024
const WEB = ['http:', 'https:'] as const

export function createEgress({ world, allow, reach = 'public' }: EgressOptions): Egress {
  const reachOf = (url: URL): Reach => (typeof reach === 'string' ? reach : reach(url))
  return {
    check: (url) => checkAddress(url, WEB, allow),

    async send({ timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES, ...asked }) {
      const url = checkAddress(asked.url, WEB, allow)
      const stop = new AbortController()
      let late = false
      const timer = world.after(timeoutMs, () => {
        late = true
        stop.abort()
      })
      try {
        // Neither proxies of the environment nor redirects: the dispatcher is the world's own, and knows of neither.
        const response = await request(url, {
          dispatcher: withReach(world.network, reachOf(url)),
          method: asked.method ?? 'GET',
          headers: { ...asked.headers, 'accept-encoding': 'identity' },
          body: asked.body ?? null,
          signal: stop.signal,
          // The timer above is the only clock.
          headersTimeout: 0,
          bodyTimeout: 0,
        })
        const headers = flat(response.headers)
        return { status: response.statusCode, headers, body: await bodyOf(response, headers, maxBytes, url) }
      } catch (error) {
        if (error instanceof EgressFailed) throw error
        if (error instanceof Blocked) throw new EgressFailed('refused', url.origin, error.message)
        if (late) throw new EgressFailed('timeout', url.origin, `took longer than ${timeoutMs} ms`)
        throw new EgressFailed('unreachable', url.origin, codeOf(error))
      } finally {
        timer.cancel()
        // What is left of a reply that was refused.
        stop.abort()
      }
    },

    async open({ host, port, scheme, timeoutMs = TIMEOUT_MS }) {
      const name = host.includes(':') ? `[${host}]` : host
      const url = checkAddress(`${scheme}://${name}:${port}`, [`${scheme}:`], allow)
      try {
        const resolve = resolverOf(world.network)
        return await dial(world, { host: name, port, reach: reachOf(url), timeoutMs, resolve })
      } catch (error) {
        if (!(error instanceof EgressFailed)) throw error
        throw new EgressFailed(error.reason, `${scheme}://${url.host}`, error.why)
      }
    },
  }
}

/** At most `maxBytes`; one that says it is longer is believed. */
async function bodyOf(
  { body }: Pick<Dispatcher.ResponseData, 'body'>,
  headers: Readonly<Record<string, string>>,
  maxBytes: number,
  { origin }: URL,
): Promise<Uint8Array> {
  const encoding = headers['content-encoding'] ?? 'identity'
  const tooLarge = () => new EgressFailed('too-large', origin, `answered with more than ${maxBytes} bytes`)
  // Aborting it raises an error on the stream that is nobody's any more.
  body.on('error', () => {})
  if (encoding !== 'identity')
    throw new EgressFailed('malformed', origin, 'answered in an encoding that was not asked for')
  if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLarge()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > maxBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

function flat(headers: Dispatcher.ResponseData['headers']): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.toLowerCase(),
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  )
}

/** The message of such an error may hold the whole address; its code never does. */
function codeOf(error: unknown): string {
  const { code, cause } = (error ?? {}) as { readonly code?: unknown; readonly cause?: { code?: unknown } }
  if (typeof code === 'string' && /^[A-Z_0-9]{1,64}$/.test(code)) return code
  return typeof cause?.code === 'string' && /^[A-Z_0-9]{1,64}$/.test(cause.code)
    ? cause.code
    : 'the connection failed'
}
