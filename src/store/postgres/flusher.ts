// The one writer of a life: makes batches durable, whatever happens to the connection meanwhile.
//
// A batch has a number that is committed with it. When the connection breaks, nobody knows whether the commit arrived;
// so the same batch is applied again on a new connection, for ever, and the number tells whether it was there (S35).
import type pg from 'pg'
import type { World } from '../../util/world.ts'
import type { OpResult } from '../assemble-store.ts'
import { Fenced, StoreUnavailable } from '../store.ts'
import type { Refused } from '../write-queue.ts'
import { type ConnectionOptions, drop, goodbye, openClient, pause } from './connection.ts'
import { isLost, isTimeout, isVictim, isWrongSchema, reasonOf } from './database-error.ts'
import type { EncodedOp } from './encode.ts'
import { applyBatch, type News } from './engine.ts'
import type { LifeOptions } from './life-writer.ts'
import { checkSettings } from './open-database.ts'

export interface FlusherOptions extends ConnectionOptions, LifeOptions {
  readonly world: Pick<World, 'after' | 'random'>
  /** Hears what other processes may want to know, after a commit. */
  readonly onNews: (news: News) => void
  readonly onAway?: (cause: Error) => void
  readonly onBack?: () => void
}

export interface Flusher {
  flush(ops: readonly EncodedOp[]): Promise<readonly (OpResult | Refused)[]>
  /** Why the database cannot be reached, while it cannot. */
  readonly away: Error | undefined
  /** From now on a database that is away is not waited for: what it does not take is given up. */
  abandon(): void
  close(): Promise<void>
}

/** The longest pause between two tries. */
const SLOWEST_MS = 2_000
/** How many times as long as usual a batch may take that did not come through before. */
const MOST_PATIENCE = 32

/**
 * The tables are found by their keys, whatever the statistics say: a plan made while they were small must not read
 * them whole when they have grown. Numbers come with all their digits: a due time that was read is compared with the kept.
 */
const SESSION = `
  set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off; set jit = off;
  set plan_cache_mode = force_generic_plan; set extra_float_digits = 1`

export function createFlusher(options: FlusherOptions): Flusher {
  let client: pg.Client | undefined
  let connecting: Promise<pg.Client> | undefined
  let away: Error | undefined
  let abandoned = false
  let closed = false
  let healing = false
  let busy = false
  let number = 0
  /** A batch that a slow server never ends in time would be tried for ever: each time it is given longer. */
  let patience = 1

  function setAway(cause: unknown): void {
    const first = away === undefined
    away = cause instanceof Error ? cause : new Error(String(cause))
    if (first) options.onAway?.(away)
  }

  function setBack(): void {
    if (away === undefined) return
    away = undefined
    options.onBack?.()
  }

  async function connect(): Promise<pg.Client> {
    const opened = await openClient({ ...options, patience }, (cause) => {
      if (client === opened) lose(cause)
    })
    try {
      await checkSettings(opened)
      await opened.query(SESSION)
    } catch (error) {
      drop(opened)
      throw error
    }
    if (closed) {
      drop(opened)
      throw new StoreUnavailable('the store is closed')
    }
    client = opened
    return opened
  }

  function connected(): Promise<pg.Client> {
    if (client !== undefined) return Promise.resolve(client)
    connecting ??= connect().finally(() => {
      connecting = undefined
    })
    return connecting
  }

  function lose(cause: unknown): void {
    if (client !== undefined) drop(client)
    client = undefined
    setAway(cause)
    if (!busy) heal()
  }

  /** A connection that broke while nothing was to be written: whether the database is back is found out all the same. */
  async function heal(): Promise<void> {
    if (healing) return
    healing = true
    for (let tries = 0; client === undefined && !busy && !abandoned; tries += 1) {
      try {
        await connected()
        if (!busy) setBack()
      } catch (error) {
        setAway(error)
        await pause(options.world, delay(tries))
      }
    }
    healing = false
  }

  /** At once, then after pauses that grow, with jitter: replicas that lost one database do not come back as one. */
  function delay(tries: number): number {
    return tries === 0 ? 0 : Math.min(20 * 2 ** tries, SLOWEST_MS) * (0.5 + options.world.random() / 2)
  }

  async function flush(ops: readonly EncodedOp[]): Promise<readonly (OpResult | Refused)[]> {
    number += 1
    busy = true
    try {
      for (let tries = 0; ; tries += 1) {
        try {
          const { results, news } = await applyBatch(await connected(), options, { number, ops })
          setBack()
          options.onNews(news)
          if (patience > 1) await beQuickAgain()
          return results
        } catch (error) {
          await recover(error)
          if (abandoned) throw given(error)
        }
        await pause(options.world, delay(tries))
      }
    } finally {
      busy = false
    }
  }

  /** The next batch is on a connection that notices a server which stands still as soon as ever. */
  async function beQuickAgain(): Promise<void> {
    patience = 1
    const slow = client
    client = undefined
    if (slow !== undefined) await goodbye(slow, options.world)
  }

  /** Makes ready to try again; throws what trying again does not mend. */
  async function recover(error: unknown): Promise<void> {
    if (error instanceof Fenced || error instanceof StoreUnavailable || isWrongSchema(error)) {
      if (client !== undefined) drop(client)
      client = undefined
      throw error
    }
    if (isTimeout(error)) patience = Math.min(patience * 2, MOST_PATIENCE)
    if (isLost(error) || isTimeout(error)) {
      lose(error)
      return
    }
    // A bug of this program, not of the database: nothing is known to be safe any more.
    if (!isVictim(error) && !isDatabaseError(error)) throw error
    if (!isVictim(error)) setAway(error)
    try {
      await client?.query('rollback')
    } catch (again) {
      lose(again)
    }
  }

  function given(cause: unknown): StoreUnavailable {
    return new StoreUnavailable(`the database is away, and was not waited for: ${reasonOf(cause)}`, { cause })
  }

  return {
    flush,
    get away() {
      return away
    },
    abandon() {
      abandoned = true
    },
    async close() {
      abandoned = true
      closed = true
      const last = client
      client = undefined
      if (last === undefined) return
      await goodbye(last, options.world)
    },
  }
}

function isDatabaseError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && 'severity' in error
}
