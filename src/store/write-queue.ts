// The group commit that every engine shares: one flush serves all who wait.
//
// One flush is under way at a time; while it runs the next batch gathers. A write somebody waits for starts a flush as
// soon as none runs. A note waits for the next batch, for `noteLagMs`, or until `noteLimit` writes are pending (S34).
// The first failed flush is the last (S37): nobody knows what reached the disk, so nothing is tried again and everything
// pending and later is refused.
import type { Timer, World } from '../util/world.ts'
import { Fenced, IllegalWrite, StoreUnavailable } from './store.ts'

/** The answer to a write that broke a rule: the rest of its batch is written. */
export interface Refused {
  readonly kind: 'refused'
  readonly message: string
}

export interface WriteQueueOptions<W, R> {
  readonly world: Pick<World, 'after' | 'soon'>
  /** Makes a batch durable and gives one result for each write, in order. Rejects when the disk did not take it. */
  readonly flush: (batch: readonly W[]) => Promise<readonly (R | Refused)[]>
  /** Called once, with the reason why the queue stopped. */
  readonly onFailed?: (error: StoreUnavailable) => void
  /** Writes that may wait for the disk, those in the running flush included. */
  readonly maxBuffered?: number
  /** Writes in one flush. */
  readonly maxBatch?: number
  readonly noteLagMs?: number
  readonly noteLimit?: number
}

export interface WriteQueue<W, R> {
  /**
   * Resolves when the write is on disk. `always` takes it even when the buffer is full: the outcome of what was sent is
   * never turned away, and there are no more of them than intents.
   */
  wait(write: W, options?: { readonly always?: boolean }): Promise<R>
  /** The same with a bounded lag. Throws when the write cannot be taken. */
  note(write: W): Promise<R>
  /** Resolves when everything taken so far is on disk. */
  drain(): Promise<void>
  /** Takes nothing more, and drains. */
  close(): Promise<void>
  /** Stops the queue for good. */
  fail(cause: unknown): void
  /** As much waits for the disk as may: whoever notes more should wait for it to be written. */
  readonly behind: boolean
  readonly failed: StoreUnavailable | undefined
  readonly closed: boolean
}

interface Pending<W, R> extends PromiseWithResolvers<R> {
  readonly write: W
  readonly waited: boolean
}

interface Drain extends PromiseWithResolvers<void> {
  /** How many writes must be settled. */
  readonly until: number
}

export function createWriteQueue<W, R>(options: WriteQueueOptions<W, R>): WriteQueue<W, R> {
  const { world, maxBuffered = 20_000, maxBatch = 2_000, noteLagMs = 50, noteLimit = 1_000 } = options
  let pending: Pending<W, R>[] = []
  let running: Pending<W, R>[] = []
  let drains: Drain[] = []
  let taken = 0
  let settled = 0
  /** Set when what is pending must not wait any longer. */
  let due = false
  let scheduled = false
  let timer: Timer | undefined
  let failed: StoreUnavailable | undefined
  let closed = false

  function refusal(always = false): StoreUnavailable | undefined {
    if (failed !== undefined) return failed
    if (closed) return new StoreUnavailable('the store is closed')
    if (always || pending.length + running.length < maxBuffered) return undefined
    return new StoreUnavailable(`the write buffer is full: ${maxBuffered} writes wait for the disk`)
  }

  function take(write: W, waited: boolean): Promise<R> {
    const one: Pending<W, R> = { write, waited, ...Promise.withResolvers<R>() }
    pending.push(one)
    taken += 1
    if (waited || pending.length >= noteLimit) {
      due = true
      schedule()
    } else {
      // Never canceled: one that fires early only flushes a later note sooner than it must.
      timer ??= world.after(noteLagMs, () => {
        timer = undefined
        due = pending.length > 0
        schedule()
      })
    }
    return one.promise
  }

  /** Starts the next flush once the current work is done, so that everything it writes shares the flush. */
  function schedule(): void {
    if (scheduled || running.length > 0 || pending.length === 0) return
    scheduled = true
    world.soon(() => {
      scheduled = false
      if (failed === undefined && running.length === 0 && pending.length > 0) start()
    })
  }

  async function start(): Promise<void> {
    running = pending.length <= maxBatch ? pending : pending.slice(0, maxBatch)
    pending = pending.length <= maxBatch ? [] : pending.slice(maxBatch)
    due = pending.length > 0
    try {
      const results = await options.flush(running.map((one) => one.write))
      // It may have failed meanwhile, by the death of the writer; then everybody was told.
      if (failed === undefined) settle(results)
    } catch (error) {
      fail(error)
    }
  }

  function settle(results: readonly (R | Refused)[]): void {
    const batch = running
    if (results.length !== batch.length) {
      throw new Error(`a flush of ${batch.length} writes gave ${results.length} results`)
    }
    running = []
    settled += batch.length
    for (let index = 0; index < batch.length; index += 1) {
      const one = batch[index] as Pending<W, R>
      const result = results[index] as R | Refused
      if (isRefused(result)) one.reject(new IllegalWrite(result.message))
      else one.resolve(result)
    }
    drains = drains.filter((drain) => {
      if (drain.until > settled) return true
      drain.resolve()
      return false
    })
    if (due) schedule()
  }

  function fail(cause: unknown): void {
    if (failed !== undefined) return
    const reason = cause instanceof Error ? cause.message : String(cause)
    const Kind = cause instanceof Fenced ? Fenced : StoreUnavailable
    const message = `the store failed and takes no more writes: ${reason}`
    const error = new Kind(message, { cause })
    failed = error
    timer?.cancel()
    // Only what was on its way may be there; of a life that was ended, nothing is.
    const underWay = new Kind(message, { cause, maybeWritten: Kind !== Fenced })
    const lost = [
      ...running.map((one) => ({ one, why: underWay })),
      ...pending.map((one) => ({ one, why: error })),
    ]
    running = []
    pending = []
    for (const { one, why } of lost) {
      // Nobody has to listen to a note; that it was lost is told by `onFailed`.
      if (!one.waited) one.promise.catch(() => undefined)
      one.reject(why)
    }
    for (const drain of drains) drain.reject(error)
    drains = []
    options.onFailed?.(error)
  }

  function drain(): Promise<void> {
    if (failed !== undefined) return Promise.reject(failed)
    if (settled === taken) return Promise.resolve()
    const one: Drain = { until: taken, ...Promise.withResolvers<void>() }
    drains.push(one)
    due = true
    schedule()
    return one.promise
  }

  return {
    wait(write, { always = false } = {}) {
      const refused = refusal(always)
      return refused === undefined ? take(write, true) : Promise.reject(refused)
    },
    note(write) {
      const refused = refusal()
      if (refused !== undefined) throw refused
      return take(write, false)
    },
    drain,
    async close() {
      closed = true
      if (failed === undefined) await drain().catch(() => undefined)
      timer?.cancel()
    },
    fail,
    get behind() {
      return pending.length >= noteLimit
    },
    get failed() {
      return failed
    },
    get closed() {
      return closed
    },
  }
}

function isRefused(result: unknown): result is Refused {
  return typeof result === 'object' && result !== null && (result as Refused).kind === 'refused'
}
