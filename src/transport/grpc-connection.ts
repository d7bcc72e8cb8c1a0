// One HTTP/2 connection to a gRPC tool: how many calls it has room for, whether its peer is there, and when it ends.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { dial } from '../egress/dial.ts'
import { EgressFailed } from '../egress/egress-failed.ts'
import { resolverOf } from '../egress/network.ts'
import type { Abort } from '../util/abort.ts'
import type { Reach } from '../util/address-class.ts'
import type { Timer, World } from '../util/world.ts'

export interface ChannelTarget {
  /** http: without TLS, by the tool's own declaration. */
  readonly url: URL
  readonly reach: Reach
  /** Targets of the same one share connections. */
  readonly pool: string
}

/** Room for one call on a connection, kept for whoever has it. */
export interface Channel {
  /** False once the connection has ended: nothing can be sent over it. */
  isOpen(): boolean
  request(headers: OutgoingHttpHeaders): ClientHttp2Stream
  /** Takes the call back. */
  cancel(stream: ClientHttp2Stream): void
  /** The peer left, and said that it never looked at this stream. */
  wasIgnored(stream: ClientHttp2Stream): boolean
  /** Gives the room back. A request gives it back when its stream has ended. */
  release(): void
}

export interface Connection {
  isOpen(): boolean
  hasRoom(): boolean
  /** Only where there is room. */
  take(): Channel
  /** Nothing was heard from the peer for so long, in milliseconds. */
  silentMs(): number
  /** Calls over it went without any answer since the peer was last heard of. */
  isDoubted(): boolean
  /** Whether the peer is still there. Everybody who asks at a time shares one question. */
  answers(): Promise<boolean>
  /** No new calls; ends after those under way. */
  retire(): void
  destroy(): void
}

export interface ConnectionOptions {
  readonly idleMs: number
  readonly connectTimeoutMs: number
  readonly ca: string | Buffer | undefined
  /** Gives up connecting. */
  readonly abort: Abort
  /** There is room again. */
  readonly onRoom: () => void
  /** It takes no calls any more. */
  readonly onRetired: () => void
  /** It has ended. */
  readonly onGone: () => void
}

const PING_MS = 2_000
const MAX_HEADER_BYTES = 16_384

/** Connected, with the first word of a peer that speaks HTTP/2. Rejects with `EgressFailed`: then nothing was sent. */
export async function openConnection(
  world: Pick<World, 'after' | 'clock' | 'network'>,
  target: ChannelTarget,
  options: ConnectionOptions,
): Promise<Connection> {
  const session = await openSession(world, target, options)
  let calls = 0
  let retired = false
  let heardAt = world.clock.monotonic()
  let doubted = false
  let lastStreamId = Number.POSITIVE_INFINITY
  let idle: Timer | undefined
  let asked: Promise<boolean> | undefined

  const heard = (): void => {
    heardAt = world.clock.monotonic()
    doubted = false
  }
  const isOpen = (): boolean => !retired && !session.closed && !session.destroyed

  function retire(): void {
    if (retired) return
    retired = true
    idle?.cancel()
    if (!session.destroyed) session.close()
    options.onRetired()
  }

  // Each stream hears of an error by itself.
  session.on('error', retire)
  session.on('goaway', (_code, last) => {
    lastStreamId = Math.min(lastStreamId, last)
    retire()
  })
  session.on('remoteSettings', options.onRoom)
  session.once('close', () => {
    retire()
    options.onGone()
  })
  if (session.destroyed) {
    retire()
    options.onGone()
  } else rest()

  /** Nobody waits on it: it does not keep the process alive, and ends after a while. */
  function rest(): void {
    session.unref()
    idle?.cancel()
    idle = world.after(options.idleMs, retire)
  }

  function take(): Channel {
    calls++
    if (calls === 1) {
      idle?.cancel()
      session.ref()
    }
    let held = true
    let used = false
    let answered = false
    const giveBack = (): void => {
      if (!held) return
      held = false
      calls--
      if (calls === 0 && isOpen()) rest()
      options.onRoom()
    }
    return {
      isOpen,
      request(headers) {
        used = true
        const stream = session.request(headers)
        stream.once('response', () => {
          answered = true
          heard()
        })
        stream.once('close', giveBack)
        return stream
      },
      cancel(stream) {
        // At once, and not when the stream has ended: the next call may come before.
        if (!answered) doubted = true
        stream.close(constants.NGHTTP2_CANCEL)
      },
      wasIgnored: ({ id = 0 }) => id > lastStreamId,
      release() {
        if (!used) giveBack()
      },
    }
  }

  return {
    isOpen,
    hasRoom: () => isOpen() && calls < (session.remoteSettings?.maxConcurrentStreams ?? 1),
    take,
    silentMs: () => world.clock.monotonic() - heardAt,
    isDoubted: () => doubted,
    answers() {
      asked ??= ping(world, session)
        .then((alive) => {
          if (alive) heard()
          return alive
        })
        .finally(() => {
          asked = undefined
        })
      return asked
    },
    retire,
    destroy: () => session.destroy(),
  }
}

async function openSession(
  world: Pick<World, 'after' | 'clock' | 'network'>,
  { url, reach }: ChannelTarget,
  { connectTimeoutMs, ca, abort }: ConnectionOptions,
): Promise<ClientHttp2Session> {
  const secure = url.protocol === 'https:'
  const tls = { alpn: ['h2'], ...(ca === undefined ? {} : { ca }) }
  const socket = await dial(world, {
    host: url.hostname,
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    reach,
    timeoutMs: connectTimeoutMs,
    abort,
    resolve: resolverOf(world.network),
    ...(secure ? { tls } : {}),
  })
  if (secure && (socket as TLSSocket).alpnProtocol !== 'h2') {
    socket.destroy()
    throw new EgressFailed('unreachable', url.host, 'does not speak HTTP/2')
  }
  return greet(world, url, socket, connectTimeoutMs, abort)
}

/** A peer of HTTP/2 says first what it takes; before that nobody knows how many calls, or whether it is one at all. */
function greet(
  world: Pick<World, 'after'>,
  url: URL,
  socket: Socket,
  timeoutMs: number,
  abort: Abort,
): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const session = connect(url.origin, {
      createConnection: () => socket,
      settings: { enablePush: false, maxHeaderListSize: MAX_HEADER_BYTES },
    })
    let unlisten = () => {}
    const stop = (): void => {
      timer.cancel()
      unlisten()
      session.off('error', failed).off('close', closed).off('remoteSettings', ready)
    }
    const fail = (reason: 'timeout' | 'unreachable', why: string): void => {
      stop()
      // What a session that is destroyed still says is of no interest.
      session.on('error', () => {})
      session.destroy()
      reject(new EgressFailed(reason, url.host, why))
    }
    const failed = (error: Error & { readonly code?: string }): void =>
      fail('unreachable', `does not speak HTTP/2 (${error.code ?? 'no reason given'})`)
    const closed = (): void => fail('unreachable', 'ended the connection before it was ready')
    const ready = (): void => {
      stop()
      resolve(session)
    }
    const timer = world.after(timeoutMs, () => fail('timeout', `took longer than ${timeoutMs} ms`))
    session.once('error', failed).once('close', closed).once('remoteSettings', ready)
    unlisten = abort.listen(() => fail('unreachable', 'it is no longer wanted'))
  })
}

function ping(world: Pick<World, 'after'>, session: ClientHttp2Session): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = world.after(PING_MS, () => resolve(false))
    const done = (alive: boolean): void => {
      timer.cancel()
      resolve(alive)
    }
    try {
      if (!session.ping((error) => done(error === null))) done(false)
    } catch {
      // It has ended already.
      done(false)
    }
  })
}
