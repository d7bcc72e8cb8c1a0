// The connections to MCP servers: one for each server, opened when somebody needs it, closed when nobody does.
import type { PriorDiscovery } from '@modelcontextprotocol/client'
import type { Credentials } from '../../credential/credential.ts'
import type { ResolvedMcpServer } from '../../resource/resolved-mcp-server.ts'
import { Abort, untilAbort } from '../../util/abort.ts'
import type { Timer, World } from '../../util/world.ts'
import { needOf } from '../credential-need.ts'
import type { McpConnection } from './connection.ts'
import { createReconnect, type Reconnect } from './reconnect.ts'
import { McpFailed, type McpSessions } from './session.ts'
import { createSlots, type Slots } from './slots.ts'

export interface McpSessionsOptions {
  readonly world: World
  readonly credentials?: Credentials | undefined
  /** @default 'writ' */
  readonly userAgent?: string
  /** Where programs are looked for. */
  readonly path?: string | undefined
}

/** Where systems keep programs, for those who say nothing else. */
const USUAL_PATH = '/usr/local/bin:/usr/bin:/bin'

interface Place {
  readonly server: ResolvedMcpServer
  readonly slots: Slots
  users: number
  /** When somebody last had a use for it; monotonic. */
  usedAt: number
  live: McpConnection | undefined
  opening: Promise<McpConnection> | undefined
  /** The last one that was of use to somebody. */
  proved: McpConnection | undefined
  idle: Timer | undefined
  readonly reconnect: Reconnect
}

export function createMcpSessions(options: McpSessionsOptions): McpSessions {
  const { world, credentials, userAgent = 'writ', path = USUAL_PATH } = options
  const places = new Map<string, Place>()
  /** Of servers that are declared no more, with calls still under way or a connection that is being opened. */
  const retired = new Set<Place>()
  const closing = new Set<Promise<void>>()
  const ending = new Abort()

  async function open(server: ResolvedMcpServer, prior: PriorDiscovery | undefined): Promise<McpConnection> {
    // With the SDK, which takes its time to load: only whoever has such servers waits for it.
    const { openConnection } = await import('./connection.ts')
    return openConnection({ world, server, credentials, userAgent, path, prior, abort: ending })
  }

  function placeOf(server: ResolvedMcpServer): Place {
    const key = `${server.namespace}/${server.name} ${server.digest}`
    const known = places.get(key)
    if (known !== undefined) return known
    // It is declared in another way now.
    forget(server)
    const place: Place = {
      server,
      slots: createSlots(server.concurrency),
      users: 0,
      usedAt: world.clock.monotonic(),
      live: undefined,
      opening: undefined,
      proved: undefined,
      idle: undefined,
      reconnect: createReconnect({ world, server, ending, open: (prior) => open(server, prior) }),
    }
    places.set(key, place)
    return place
  }

  function forget({ namespace, name }: Pick<ResolvedMcpServer, 'namespace' | 'name'>): void {
    for (const [key, place] of places) {
      const { server } = place
      if (server.namespace !== namespace || server.name !== name) continue
      places.delete(key)
      retired.add(place)
      endRetired(place)
    }
  }

  /** Once nobody uses it or waits for it; what is being opened may come about after everybody has left. */
  function endRetired(place: Place): void {
    if (place.users > 0 || place.opening !== undefined || !retired.delete(place)) return
    place.idle?.cancel()
    if (place.live !== undefined) leave(place, place.live)
  }

  function connectionOf(place: Place): Promise<McpConnection> {
    const { live } = place
    if (live !== undefined && !live.ended) return Promise.resolve(live)
    if (live !== undefined) lose(place, live)
    place.opening ??= place.reconnect
      .connect()
      .then((opened) => {
        place.live = opened
        // The next user opens another one; until then nothing of it is left.
        opened.onClosed(() => lose(place, opened))
        rest(place)
        return opened
      })
      .finally(() => {
        place.opening = undefined
        endRetired(place)
      })
    return place.opening
  }

  /** It has ended, or is about to: nothing can be sent over it any more. */
  function lose(place: Place, connection: McpConnection): void {
    if (place.live === connection && place.proved !== connection) place.reconnect.wasNoUse()
    leave(place, connection)
  }

  function leave(place: Place, connection: McpConnection): void {
    if (place.live === connection) place.live = undefined
    const closed = connection.close().finally(() => closing.delete(closed))
    closing.add(closed)
  }

  function prove(place: Place, connection: McpConnection): void {
    if (place.proved === connection) return
    place.proved = connection
    place.reconnect.wasOfUse()
  }

  /** Nobody uses it just now. */
  function rest(place: Place): void {
    place.idle?.cancel()
    place.idle = undefined
    const { idleMs } = place.server
    if (place.users > 0 || place.live === undefined || idleMs === undefined) return
    const left = place.usedAt + idleMs - world.clock.monotonic()
    place.idle = world.after(Math.max(0, left), () => {
      if (place.users === 0 && place.live !== undefined) leave(place, place.live)
    })
  }

  /** Secrets in the environment of a program are those of its start: after a rotation it is started anew. */
  async function renew(place: Place, abort: Abort): Promise<void> {
    const { live, server } = place
    const need = needOf(server)
    if (live === undefined || need === undefined || server.connection.kind !== 'stdio') return
    const version = await credentials?.version(need, abort)
    if (version !== undefined && version !== live.credentialVersion && place.live === live) {
      place.live = undefined
      // Calls that are under way on it end by themselves.
      place.slots.whenFree(() => leave(place, live))
    }
  }

  return {
    async use(server, abort, run, { aside } = { aside: false }) {
      if (ending.aborted) throw stopped()
      const place = placeOf(server)
      place.users++
      place.idle?.cancel()
      const free = await place.slots.take(abort)
      try {
        if (free === undefined) throw stopped()
        await renew(place, abort)
        const connection = await untilAbort(connectionOf(place), abort)
        if (connection === undefined) throw stopped(place.reconnect.trouble)
        const result = await run(connection)
        if (!connection.ended) prove(place, connection)
        return result
      } finally {
        free?.()
        place.users--
        if (!aside) place.usedAt = world.clock.monotonic()
        if (place.users === 0) rest(place)
        endRetired(place)
      }
    },
    forget,
    async close() {
      ending.abort('shutdown')
      for (const place of [...places.values(), ...retired]) {
        place.idle?.cancel()
        await place.opening?.catch(() => {})
        if (place.live !== undefined) leave(place, place.live)
      }
      places.clear()
      await Promise.all(closing)
    },
  }
}

function stopped(trouble?: string): McpFailed {
  const before = trouble === undefined ? '' : `, which failed before: ${trouble}`
  const message = `stopped before there was a connection to the server${before}`
  return new McpFailed({ kind: 'failure', failure: 'timeout-before-send', message, definite: true })
}
