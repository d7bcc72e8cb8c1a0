// Connections to gRPC tools, kept and shared: one carries many calls, up to what its peer takes at a time.
import { EgressFailed } from '../egress/egress-failed.ts'
import { Abort, untilAbort } from '../util/abort.ts'
import type { World } from '../util/world.ts'
import { type Channel, type ChannelTarget, type Connection, openConnection } from './grpc-connection.ts'

export interface Channels {
  /**
   * Room for one call; undefined where the abort came first. `fresh`: on a connection that has just been heard of, for
   * what must not be lost (S25). Rejects with `EgressFailed`. At once where a connection has room and is not in doubt.
   */
  open(
    target: ChannelTarget,
    fresh: boolean,
    abort: Abort,
  ): Channel | undefined | Promise<Channel | undefined>
  close(): Promise<void>
}

export interface ChannelOptions {
  /** Unused for so long, a connection is closed. @default 60_000 */
  readonly idleMs?: number
  /** @default 10_000 */
  readonly connectTimeoutMs?: number
  /** Of certificates, in place of those of the system. */
  readonly ca?: string | Buffer | undefined
}

/** A connection that was silent for longer is asked whether it is still there before a write goes over it. */
const STALE_MS = 1_000
/** A peer that lets few calls share a connection gets more connections, up to here; beyond that, calls wait. */
const MAX_PER_TARGET = 8
/** A peer that ends connections as soon as they are made is not asked for ever. */
const MAX_LOST = 3

interface Pool {
  /** Those that take calls. */
  readonly connections: Set<Connection>
  opening: Promise<Connection> | undefined
  readonly waiting: Set<() => void>
}

export function createChannels(
  world: Pick<World, 'after' | 'clock' | 'network'>,
  options: ChannelOptions = {},
): Channels {
  const { idleMs = 60_000, connectTimeoutMs = 10_000, ca } = options
  const pools = new Map<string, Pool>()
  /** Those that end after their last call, too. */
  const all = new Set<Connection>()
  const ending = new Abort()

  function poolOf(key: string): Pool {
    const pool = pools.get(key) ?? { connections: new Set(), opening: undefined, waiting: new Set() }
    pools.set(key, pool)
    return pool
  }

  function wakeOne({ waiting }: Pool): void {
    const [first] = waiting
    first?.()
  }

  function wakeAll({ waiting }: Pool): void {
    for (const wake of [...waiting]) wake()
  }

  function tidy(key: string, pool: Pool): void {
    const empty = pool.connections.size === 0 && pool.waiting.size === 0 && pool.opening === undefined
    if (empty && pools.get(key) === pool) pools.delete(key)
  }

  function openNew(key: string, pool: Pool, target: ChannelTarget): Promise<Connection> {
    if (pool.opening !== undefined) return pool.opening
    let made: Connection | undefined
    let gone = false
    const opening = openConnection(world, target, {
      idleMs,
      connectTimeoutMs,
      ca,
      abort: ending,
      onRoom: () => wakeOne(pool),
      onRetired() {
        if (made !== undefined) pool.connections.delete(made)
        wakeAll(pool)
        tidy(key, pool)
      },
      onGone() {
        gone = true
        if (made !== undefined) all.delete(made)
      },
    })
      .then((connection) => {
        made = connection
        if (!gone) all.add(connection)
        if (connection.isOpen()) pool.connections.add(connection)
        return connection
      })
      .finally(() => {
        pool.opening = undefined
        tidy(key, pool)
      })
    pool.opening = opening
    return opening
  }

  /** Until there may be room. */
  function room(pool: Pool, abort: Abort): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        pool.waiting.delete(wake)
        unlisten()
        resolve()
      }
      pool.waiting.add(wake)
      let unlisten = () => {}
      unlisten = abort.listen(wake)
    })
  }

  /** Room on a connection that can be used; undefined where it turned out that it cannot. */
  async function usable(connection: Connection, fresh: boolean): Promise<Channel | undefined> {
    const channel = connection.take()
    if (!isCurrent(connection, fresh) && !(await connection.answers())) {
      channel.release()
      // Calls under way may still be answered.
      connection.retire()
      return undefined
    }
    if (channel.isOpen()) return channel
    channel.release()
    return undefined
  }

  async function search(target: ChannelTarget, fresh: boolean, abort: Abort): Promise<Channel | undefined> {
    const key = target.pool
    let lost = 0
    for (;;) {
      if (ending.aborted) throw new EgressFailed('unreachable', target.url.host, 'the runtime is ending')
      const pool = poolOf(key)
      if (abort.aborted) {
        // Whoever was woken for nothing wakes the next.
        wakeOne(pool)
        tidy(key, pool)
        return undefined
      }
      const free = withRoom(pool)
      if (free !== undefined) {
        const channel = await untilAbort(usable(free, fresh), abort, (late) => late?.release())
        if (channel !== undefined) return channel
        continue
      }
      if (pool.connections.size >= MAX_PER_TARGET) {
        await room(pool, abort)
        continue
      }
      const opened = await untilAbort(openNew(key, pool, target), abort)
      if (opened !== undefined && !opened.isOpen() && ++lost === MAX_LOST)
        throw new EgressFailed('unreachable', target.url.host, 'ends connections as soon as they are made')
    }
  }

  return {
    open(target, fresh, abort) {
      const free = withRoom(pools.get(target.pool))
      const atOnce = free !== undefined && isCurrent(free, fresh) && !abort.aborted && !ending.aborted
      return atOnce ? free.take() : search(target, fresh, abort)
    },
    async close() {
      ending.abort('shutdown')
      for (const connection of all) connection.destroy()
      for (const pool of pools.values()) wakeAll(pool)
      await Promise.allSettled([...pools.values()].map(({ opening }) => opening))
      for (const connection of all) connection.destroy()
      pools.clear()
    },
  }
}

function withRoom(pool: Pool | undefined): Connection | undefined {
  if (pool !== undefined)
    for (const connection of pool.connections) if (connection.hasRoom()) return connection
  return undefined
}

/** Heard of lately enough for a call of this kind. */
function isCurrent(connection: Connection, fresh: boolean): boolean {
  return connection.silentMs() <= STALE_MS || !(fresh || connection.isDoubted())
}
