// Puts a store together from what an engine brings: synchronous reads, and a way to make a batch of operations durable.
import type { World } from '../util/world.ts'
import {
  type ApplyResult,
  type CallStore,
  type EntryStore,
  type EvidenceRecord,
  type EvidenceStore,
  IllegalWrite,
  type LedgerWrite,
  type ResourceChange,
  type ResourceStore,
  type Store,
  StoreUnavailable,
  type WriteResult,
} from './store.ts'
import { createWriteQueue, type Refused, type WriteQueue } from './write-queue.ts'

/** Everything that changes a store. A batch of these is one transaction. */
export type StoreOp =
  /** A life begins: names the end of the one before in evidence. */
  | { readonly kind: 'start'; readonly at: number }
  | { readonly kind: 'write'; readonly write: LedgerWrite }
  | {
      readonly kind: 'apply'
      readonly namespace: string
      readonly changes: readonly ResourceChange[]
      readonly at: number
      readonly evidence: readonly EvidenceRecord[]
    }
  | { readonly kind: 'erase' | 'forget'; readonly before: number; readonly limit: number }

export type OpResult = WriteResult | ApplyResult | { readonly kind: 'changed'; readonly rows: number }

type Sync<T> = {
  readonly [K in keyof T]: T[K] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never
}

/** The read verbs as an engine brings them. They see what is committed, and nothing else. */
export interface StoreReads {
  readonly entries: Sync<Omit<EntryStore, 'erase' | 'forget'>>
  readonly calls: Sync<CallStore>
  readonly resources: Sync<Pick<ResourceStore, 'list'>>
  readonly evidence: Sync<EvidenceStore>
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
}

/** The store, and how its engine says that it died. */
export interface AssembledStore {
  readonly store: Store
  fail(cause: unknown): void
}

export async function assembleStore<W>(options: AssembleStoreOptions<W>): Promise<AssembledStore> {
  const { world, reads, encode } = options
  const queue: WriteQueue<W, OpResult> = createWriteQueue({
    world,
    flush: options.flush,
    ...(options.onFailed === undefined ? {} : { onFailed: options.onFailed }),
    ...(options.maxBuffered === undefined ? {} : { maxBuffered: options.maxBuffered }),
  })

  function wait<R extends OpResult>(op: StoreOp, always = false): Promise<R> {
    const encoded = tryEncode(encode, op)
    if (encoded instanceof IllegalWrite) return Promise.reject(encoded)
    return queue.wait(encoded, { always }) as Promise<R>
  }

  function note(write: LedgerWrite): Promise<WriteResult> {
    const encoded = tryEncode(encode, { kind: 'write', write })
    return encoded instanceof IllegalWrite
      ? Promise.reject(encoded)
      : (queue.note(encoded) as Promise<WriteResult>)
  }

  /** A store that failed answers nothing: what it would show may not be what the disk holds (S37). */
  async function read<R>(run: () => R): Promise<R> {
    if (queue.failed !== undefined) throw queue.failed
    if (queue.closed) throw new StoreUnavailable('the store is closed')
    return run()
  }

  async function sweep(kind: 'erase' | 'forget', before: number, limit: number): Promise<number> {
    checkLimit(limit)
    const result = await wait<Extract<OpResult, { kind: 'changed' }>>({ kind, before, limit })
    return result.rows
  }

  let closing: Promise<void> | undefined
  const store: Store = {
    durable: options.durable,
    ledger: {
      intend: (write) => wait({ kind: 'write', write }),
      settle: (write) => wait({ kind: 'write', write }, true),
      note,
    },
    entries: {
      find: (scope, key) => read(() => reads.entries.find(scope, key)),
      get: (namespace, id) => read(() => reads.entries.get(namespace, id)),
      findByIdentity: (identity, since) => read(() => reads.entries.findByIdentity(identity, since)),
      orphans: (epoch, limit) => read(() => reads.entries.orphans(epoch, checkLimit(limit))),
      countByState: (state) => read(() => reads.entries.countByState(state)),
      erase: (before, limit) => sweep('erase', before, limit),
      forget: (before, limit) => sweep('forget', before, limit),
    },
    calls: {
      get: (namespace, id) => read(() => reads.calls.get(namespace, id)),
      list: (filter) => read(() => reads.calls.list({ ...filter, limit: checkLimit(filter.limit) })),
      orphans: (epoch, limit) => read(() => reads.calls.orphans(epoch, checkLimit(limit))),
    },
    resources: {
      list: (filter) => read(() => reads.resources.list(filter)),
      apply: (namespace, changes, at, evidence) =>
        wait<ApplyResult>({ kind: 'apply', namespace, changes, at, evidence }),
    },
    evidence: {
      links: (epoch, fromBatch, limit) =>
        read(() => reads.evidence.links(epoch, fromBatch, checkLimit(limit))),
      epochs: () => read(() => reads.evidence.epochs()),
      forCall: (namespace, callId) => read(() => reads.evidence.forCall(namespace, callId)),
    },
    get behind() {
      return queue.behind
    },
    get failed() {
      return queue.failed
    },
    flush: () => queue.drain(),
    close() {
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
