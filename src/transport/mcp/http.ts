// MCP over Streamable HTTP, by the transport of the SDK with a `fetch` of our own.
import { AsyncLocalStorage } from 'node:async_hooks'
import { type JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { World } from '../../util/world.ts'
import { createGuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts'
import { unreadable } from './unreadable.ts'
import { isToolCall, type Wire, type WireCall } from './wire.ts'

export interface HttpWireOptions extends Omit<GuardedFetchOptions, 'network'> {
  readonly world: Pick<World, 'after' | 'network'>
}

/** Of the stream in which the server speaks by itself. */
const RECONNECT = {
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 2,
  maxRetries: 5,
}
/** However soon, or late, the server asks for it. */
const RECONNECT_MS = { least: 250, most: 30_000 } as const
/** To say that the session is over. */
const GOODBYE_MS = 1_000

export function createHttpWire(options: HttpWireOptions): Wire {
  const { world, endpoint } = options
  const guarded = createGuardedFetch({ ...options, network: world.network })
  /** The call whose message is about to be posted; empty for every other request. */
  const posting = new AsyncLocalStorage<WireCall | undefined>()
  const calls = new AsyncLocalStorage<WireCall>()

  const transport = new StreamableHTTPClientTransport(endpoint, {
    fetch: (url, init) => guarded(url, init, init?.method === 'POST' ? posting.getStore() : undefined),
    reconnectionOptions: RECONNECT,
    reconnectionScheduler: (reconnect, delay) => {
      const inMs = Math.min(Math.max(delay, RECONNECT_MS.least), RECONNECT_MS.most)
      const timer = world.after(inMs, reconnect)
      return () => timer.cancel()
    },
  })
  const send = transport.send.bind(transport)
  transport.send = (message, sendOptions) => {
    const call = isToolCall(message) ? calls.getStore() : undefined
    // The SDK gives older revisions no way to stop reading; the word of the cancel is a request of its own there.
    const requestSignal = sendOptions?.requestSignal ?? call?.signal
    return posting.run(call, () =>
      send(message, {
        ...(call === undefined ? { onRequestStreamEnd: () => tellNothingCame(message) } : {}),
        ...sendOptions,
        ...(requestSignal === undefined ? {} : { requestSignal }),
      }),
    )
  }

  /** The SDK would wait for an answer that cannot come any more. One that has come is not harmed. */
  function tellNothingCame(message: JSONRPCMessage | JSONRPCMessage[]): void {
    if (!('id' in message) || typeof message.id !== 'number') return
    transport.onmessage?.(unreadable(message.id, 'the stream ended without an answer that can be read'))
  }

  let over: Promise<void> | undefined
  return {
    transport,
    during: (call, run) => calls.run(call, run),
    isOpen: () => over === undefined,
    stderr: () => '',
    close() {
      over ??= goodbye(transport, world).finally(() => transport.close())
      return over
    },
  }
}

/** A server that keeps a session is told that nobody will use it any more. */
async function goodbye(transport: StreamableHTTPClientTransport, world: Pick<World, 'after'>): Promise<void> {
  if (transport.sessionId === undefined) return
  let stop = () => {}
  const late = new Promise<void>((resolve) => {
    const timer = world.after(GOODBYE_MS, resolve)
    stop = () => timer.cancel()
  })
  await Promise.race([transport.terminateSession().catch(() => {}), late])
  stop()
}
