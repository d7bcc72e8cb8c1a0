// Puts a store together from what an engine brings: reads, and a way to make a batch of operations durable.
import type { CallRecord } from '../contract/call.ts'
import type { Entry } from '../contract/entry.ts'
import type { World } from '../util/world.ts'
import {
  type ApplyResult,
  type ApprovalStore,
  type BudgetStore,
  type CallStore,
  type CheckpointRow,
  type DueTimer,
  type EntryStore,
  type EvidenceStore,
  IllegalWrite,
  type LedgerWrite,
  type Life,
  type LifeStore,
  type NewEvidence,
  type Peers,
  type ResourceChange,
  type ResourceStore,
  type SagaStore,
  type Store,
  StoreUnavailable,
  type TimerStore,
  type WriteResult,
} from './store.ts'
import { createWriteQueue, type Refused, type WriteQueue } from './write-queue.ts'

/** Everything that changes a store. A batch of these is one transaction, on behalf of one life, and renews its lease. */
export type StoreOp =
  /** A life begins: names the end of the one before, and the last checkpoint, in evidence. */
  | { readonly kind: 'start'; readonly at: number }
  | { readonly kind: 'write'; readonly write: LedgerWrite }
  | {
      readonly kind: 'apply'
      readonly namespace: string
      readonly changes: readonly ResourceChange[]
      readonly at: number
      readonly evidence: readonly NewEvidence[]
    }
  | { readonly kind: 'erase' | 'forget'; readonly before: number; readonly limit: number }
  | { readonly kind: 'adopt-entries' | 'adopt-calls' | 'claim-timers'; readonly limit: number }
  | { readonly kind: 'cancel'; readonly namespace: string; readonly id: string }
  | { readonly kind: 'renew'; readonly over: Readonly<Record<string, number>>; readonly seen: number }
  | { readonly kind: 'reap' | 'end' }
  | { readonly kind: 'checkpoint'; readonly row: CheckpointRow }
  | { readonly kind: 'prune'; readonly epoch: string; readonly upToBatch: number; readonly limit: number }
  | { readonly kind: 'prune-checkpoints'; readonly before: number; readonly limit: number }

export type OpResult =
  | WriteResult
  | ApplyResult
  /** Of erase, forget, prune; and of cancel and checkpoint, where 0 is no. */
  | { readonly kind: 'changed'; readonly rows: number }
  | { readonly kind: 'entries'; readonly entries: readonly Entry[] }
  | { readonly kind: 'calls'; readonly calls: readonly CallRecord[] }
  | { readonly kind: 'timers'; readonly timers: readonly DueTimer[] }
  | { readonly kind: 'lives'; readonly lives: readonly Life[] }
  | { readonly kind: 'reaped'; readonly epochs: readonly string[] }

type Reads<T> = {
  readonly [K in keyof T]: T[K] extends (...args: infer A) => Promise<infer R>
    ? (...args: A) => R | Promise<R>
    : never
}

/** The read verbs as an engine brings them. They see what is committed, and nothing else. */
export interface StoreReads {
  readonly entries: Reads<Omit<EntryStore, 'erase' | 'forget' | 'adopt' | 'requestCancel'>>
  readonly calls: Reads<Omit<CallStore, 'adopt'>>
  readonly resources: Reads<Omit<ResourceStore, 'apply'>>
  readonly evidence: Reads<Omit<EvidenceStore, 'addCheckpoint' | 'prune' | 'pruneCheckpoints'>>
  readonly timers: Reads<Omit<TimerStore, 'claim' | 'onSet'>>
  readonly sagas: Reads<SagaStore>
  readonly approvals: Reads<ApprovalStore>
  readonly budgets: Reads<BudgetStore>
}

export interface AssembleStoreOptions<W> {
  readonly world: World
  readonly durable: boolean
  readonly reads: StoreReads
  /** Makes an operation ready for `flush`. Throws for one that cannot be kept. */
  readonly encode: (op: StoreOp) => W
  readonly flush: (batch: readonly W[]) => Promise<readonly (OpResult | Refused)[]>
  readonly release: () => Promise<void>
  readonly onFailed?: (error: StoreUnavailable) => void
  readonly maxBuffered?: number
  /** How long a life lasts after its last write, where several processes share the store. @default Infinity: one alone */
  readonly leaseMs?: number
  readonly peers?: Peers
  /** Set while the database cannot be reached: only outcomes are taken, and wait. */
  readonly away?: () => Error | undefined
  /** Does not wait for long any more for a database that is away. */
  readonly hurry?: () => void
}

/** The store, and how its engine says that it died. */
export interface AssembledStore {
  readonly store: Store
  fail(cause: unknown): void
}

export async function assembleStore<W>(options: AssembleStoreOptions<W>): Promise<AssembledStore> {
  const { world, reads, encode, leaseMs = Number.POSITIVE_INFINITY, hurry = () => undefined } = options
  const away = options.away ?? (() => undefined)
  let sendUntil = Number.NEGATIVE_INFINITY

  /** Counted from before the batch left: the store's own clock started later. */
  async function flush(batch: readonly W[]): Promise<readonly (OpResult | Refused)[]> {
    const from = world.clock.monotonic()
    const results = await options.flush(batch)
    sendUntil = from + (leaseMs * 2) / 3
    return results
  }

  const queue: WriteQueue<W, OpResult> = createWriteQueue({
    world,
    flush,
    ...(options.onFailed === undefined ? {} : { onFailed: options.onFailed }),
    ...(options.maxBuffered === undefined ? {} : { maxBuffered: options.maxBuffered }),
  })

  function wait<R extends OpResult>(op: StoreOp, always = false): Promise<R> {
    const gone = always ? undefined : absence()
    if (gone !== undefined) return Promise.reject(gone)
    const encoded = tryEncode(encode, op)
    if (encoded instanceof IllegalWrite) return Promise.reject(encoded)
    return queue.wait(encoded, { always }) as Promise<R>
  }

  function absence(): StoreUnavailable | undefined {
    const cause = away()
    return cause && new StoreUnavailable(`the database cannot be reached: ${cause.message}`, { cause })
  }

  function note(write: LedgerWrite): Promise<WriteResult> {
    const gone = absence()
    if (gone !== undefined) throw gone
    const encoded = tryEncode(encode, { kind: 'write', write })
    return encoded instanceof IllegalWrite
      ? Promise.reject(encoded)
      : (queue.note(encoded) as Promise<WriteResult>)
  }

  /** A store that failed answers nothing: what it would show may not be what the disk holds (S37). */
  async function read<R>(run: () => R | Promise<R>): Promise<R> {
    if (queue.failed !== undefined) throw queue.failed
    if (queue.closed) throw new StoreUnavailable('the store is closed')
    return run()
  }

  async function change(op: StoreOp): Promise<number> {
    const { rows } = await wait<Extract<OpResult, { kind: 'changed' }>>(op)
    return rows
  }

  const lives: LifeStore = {
    leaseMs,
    get sendUntil() {
      return sendUntil
    },
    renew: async (over, seen) =>
      (await wait<Extract<OpResult, { kind: 'lives' }>>({ kind: 'renew', over, seen })).lives,
    reap: async () => (await wait<Extract<OpResult, { kind: 'reaped' }>>({ kind: 'reap' })).epochs,
    async end() {
      await wait({ kind: 'end' })
    },
  }

  const listeners = new Set<(inMs: number) => void>()
  function tellTimers(write: LedgerWrite, written: Promise<WriteResult>): Promise<WriteResult> {
    const soonest = Math.min(...(write.timers ?? []).map(({ inMs = Number.POSITIVE_INFINITY }) => inMs))
    if (soonest === Number.POSITIVE_INFINITY) return written
    return written.then((result) => {
      if (result.kind === 'written') for (const listener of listeners) listener(soonest)
      return result
    })
  }

  let closing: Promise<void> | undefined
  const store: Store = {
    durable: options.durable,
    ledger: {
      intend: (write) => tellTimers(write, wait({ kind: 'write', write })),
      settle: (write) => tellTimers(write, wait({ kind: 'write', write }, true)),
      note: (write) => tellTimers(write, note(write)),
    },
    entries: {
      find: (scope, key) => read(() => reads.entries.find(scope, key)),
      get: (namespace, id) => read(() => reads.entries.get(namespace, id)),
      findByIdentity: (identity, since) => read(() => reads.entries.findByIdentity(identity, since)),
      list: (filter) => read(() => reads.entries.list({ ...filter, limit: checkLimit(filter.limit) })),
      async adopt(limit) {
        const op: StoreOp = { kind: 'adopt-entries', limit: checkLimit(limit) }
        return (await wait<Extract<OpResult, { kind: 'entries' }>>(op)).entries
      },
      countOpen: () => read(() => reads.entries.countOpen()),
      requestCancel: async (namespace, id) => (await change({ kind: 'cancel', namespace, id })) > 0,
      cancelRequests: (limit) => read(() => reads.entries.cancelRequests(checkLimit(limit))),
      erase: async (before, limit) => change({ kind: 'erase', before, limit: checkLimit(limit) }),
      forget: async (before, limit) => change({ kind: 'forget', before, limit: checkLimit(limit) }),
    },
    calls: {
      get: (namespace, id) => read(() => reads.calls.get(namespace, id)),
      list: (filter) => read(() => reads.calls.list({ ...filter, limit: checkLimit(filter.limit) })),
      async adopt(limit) {
        const op: StoreOp = { kind: 'adopt-calls', limit: checkLimit(limit) }
        return (await wait<Extract<OpResult, { kind: 'calls' }>>(op)).calls
      },
    },
    resources: {
      list: (filter) => read(() => reads.resources.list(filter)),
      stamp: () => read(() => reads.resources.stamp()),
      keys: () => read(() => reads.resources.keys()),
      apply: (namespace, changes, at, evidence) =>
        wait<ApplyResult>({ kind: 'apply', namespace, changes, at, evidence }),
    },
    evidence: {
      links: (epoch, fromBatch, limit) =>
        read(() => reads.evidence.links(epoch, fromBatch, checkLimit(limit))),
      epochs: () => read(() => reads.evidence.epochs()),
      forCall: (namespace, callId) => read(() => reads.evidence.forCall(namespace, callId)),
      ends: () => read(() => reads.evidence.ends()),
      checkpoints: (from, limit) => read(() => reads.evidence.checkpoints(from, checkLimit(limit))),
      lastCheckpoint: () => read(() => reads.evidence.lastCheckpoint()),
      addCheckpoint: async (row) => (await change({ kind: 'checkpoint', row })) > 0,
      prune: async (epoch, upToBatch, limit) =>
        change({ kind: 'prune', epoch, upToBatch, limit: checkLimit(limit) }),
      pruneCheckpoints: async (before, limit) =>
        change({ kind: 'prune-checkpoints', before, limit: checkLimit(limit) }),
    },
    timers: {
      async claim(limit) {
        const op: StoreOp = { kind: 'claim-timers', limit: checkLimit(limit) }
        return (await wait<Extract<OpResult, { kind: 'timers' }>>(op)).timers
      },
      nextIn: () => read(() => reads.timers.nextIn()),
      get: (namespace, kind, subject) => read(() => reads.timers.get(namespace, kind, subject)),
      onSet(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    },
    sagas: {
      get: (namespace, id) => read(() => reads.sagas.get(namespace, id)),
      list: (filter) => read(() => reads.sagas.list({ ...filter, limit: checkLimit(filter.limit) })),
    },
    approvals: {
      get: (namespace, id) => read(() => reads.approvals.get(namespace, id)),
      list: (filter) => read(() => reads.approvals.list({ ...filter, limit: checkLimit(filter.limit) })),
    },
    budgets: {
      spent: (namespace, keys) => read(() => reads.budgets.spent(namespace, keys)),
    },
    lives,
    ...(options.peers === undefined ? {} : { peers: options.peers }),
    get behind() {
      return queue.behind
    },
    get failed() {
      return queue.failed ?? absence()
    },
    get away() {
      return queue.failed === undefined && away() !== undefined
    },
    flush: () => queue.drain(),
    hurry,
    close() {
      hurry()
      closing ??= queue.close().then(() => options.release())
      return closing
    },
  }

  try {
    await wait({ kind: 'start', at: world.clock.now() })
  } catch (error) {
    await store.close()
    throw error
  }
  return { store, fail: queue.fail }
}

function tryEncode<W>(encode: (op: StoreOp) => W, op: StoreOp): W | IllegalWrite {
  try {
    return encode(op)
  } catch (error) {
    if (error instanceof IllegalWrite) return error
    return new IllegalWrite(
      `a ${op.kind} cannot be kept: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    )
  }
}

/** A negative limit means none to SQLite: nobody reads a whole table by mistake. */
function checkLimit(limit: number): number {
  if (Number.isSafeInteger(limit) && limit > 0) return limit
  throw new RangeError(`a limit is a whole number above 0, not ${limit}`)
}
