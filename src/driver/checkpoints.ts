// Makes a signed checkpoint each second in which records came (S39), and drops evidence that is old enough.
//
// Processes that share a store share one row of checkpoints. Whoever finds its number taken reads what the others made
// and makes the next one, if there is still something to say.
import type { Events } from '../event/event.ts'
import type { Anchor } from '../ledger/anchor.ts'
import type { AuditKey } from '../ledger/audit-key.ts'
import { type CheckpointText, headOf, readCheckpoint, signCheckpoint } from '../ledger/checkpoint.ts'
import { type ChainEnd, type CheckpointRow, type Store, StoreUnavailable } from '../store/store.ts'
import { errorPlace } from '../util/error-place.ts'
import type { Timer, World } from '../util/world.ts'
import { newestComplete, pruneEvidence } from './prune-evidence.ts'

export interface CheckpointOptions {
  readonly world: World
  readonly store: Store
  readonly events: Events
  readonly key: AuditKey
  readonly anchor?: Anchor | undefined
}

export interface Checkpoints {
  /** Up to the last checkpoint, made now where records came since. */
  vouched(): Promise<Vouched>
  /** Drops evidence from before `before`, up to a checkpoint, about `limit` rows at a time; 0 means that none is left. */
  prune(before: number, limit: number): Promise<number>
  /** Keeps evidence from being dropped while `work` reads it. */
  hold<T>(work: () => AsyncIterable<T>): AsyncIterable<T>
  /** Makes the last one. Comes before the life ends. */
  stop(): Promise<void>
}

/** What the checkpoints vouch for at one moment. */
export interface Vouched {
  readonly head: CheckpointRow | undefined
  /** Chains that are listed, of those that are kept. */
  readonly listed: ReadonlySet<string>
  /** Public keys of all who signed what is kept, by id. */
  readonly keys: Readonly<Record<string, string>>
}

const EVERY_MS = 1_000
const DAY_MS = 86_400_000
/** A complete checkpoint comes after so many, or on the next day: old evidence is dropped up to one of those. */
const COMPLETE_EVERY = 1_000
const PAGE = 200
const TRIES = 20

/** What the checkpoints up to `number` say together. */
interface Known {
  readonly number: number
  readonly hash: string
  readonly row: CheckpointRow | undefined
  readonly heads: ReadonlyMap<string, ChainEnd>
  readonly complete: number
  readonly completeAt: number
  readonly dropped: number
  /** Chains that were listed as closed since the last complete one. */
  readonly closed: ReadonlySet<string>
  readonly keys: Readonly<Record<string, string>>
}

const NOTHING: Known = {
  number: 0,
  hash: '',
  row: undefined,
  heads: new Map(),
  complete: 0,
  completeAt: Number.NEGATIVE_INFINITY,
  dropped: 0,
  closed: new Set(),
  keys: {},
}

export function createCheckpoints({ world, store, events, key, anchor }: CheckpointOptions): Checkpoints {
  const { evidence } = store
  let known = NOTHING
  /** Written, and not known to be there: its number was taken, maybe by itself. */
  let attempted: string | undefined
  let last: Promise<unknown> = Promise.resolve()
  let timer: Timer | undefined
  let stopped = false
  let readers = 0

  /** One after the other: each builds on what the one before found. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = last.then(work, work)
    last = next
    return next
  }

  function keep(row: CheckpointRow): void {
    attempted = undefined
    anchor?.put(headOf(row, key.publicKey))
  }

  async function catchUp(): Promise<void> {
    const newest = await evidence.lastCheckpoint()
    if (newest === undefined || newest.number <= known.number) return
    let next = known.number === 0 ? read(newest).complete : known.number + 1
    while (next <= newest.number) {
      const rows = await evidence.checkpoints(next, PAGE)
      if (rows.length === 0) return
      for (const row of rows) {
        known = fold(known, row)
        if (row.hash === attempted) keep(row)
      }
      next = known.number + 1
    }
  }

  /** Where there is something new to say; that evidence up to a checkpoint may be dropped, too. */
  async function make(dropped = 0): Promise<void> {
    for (let tries = 0; tries < TRIES; tries++) {
      await catchUp()
      const ends = await evidence.ends()
      if (covers(known, ends) && known.dropped >= dropped) return
      const row = signCheckpoint(next(known, ends, dropped), key)
      attempted = row.hash
      if (!(await evidence.addCheckpoint(row))) continue
      known = fold(known, row)
      keep(row)
      return
    }
    throw new Error(`no number for a checkpoint was free in ${TRIES} tries`)
  }

  function next(from: Known, ends: readonly ChainEnd[], dropped: number): CheckpointText {
    const at = world.clock.now()
    const number = from.number + 1
    const complete =
      from.keys[key.keyId] !== key.publicKey ||
      number - from.complete >= COMPLETE_EVERY ||
      Math.floor(at / DAY_MS) !== Math.floor(from.completeAt / DAY_MS)
    return {
      number,
      at,
      prev: from.hash,
      complete: complete ? number : from.complete,
      dropped: Math.max(from.dropped, dropped),
      heads: complete ? ends : ends.filter(({ epoch }) => !from.closed.has(epoch)),
      ...(complete ? { keys: { ...from.keys, [key.keyId]: key.publicKey } } : {}),
    }
  }

  function tick(): void {
    timer = world.after(EVERY_MS, () => {
      inTurn(() => make())
        .catch(failed)
        .then(() => {
          if (!stopped) tick()
        })
    })
  }

  /** A store that cannot keep anything says so itself. */
  function failed(error: unknown): void {
    if (error instanceof StoreUnavailable) return
    events.emit('audit:failed', { what: 'checkpoint', message: errorPlace(error) })
  }

  tick()
  return {
    vouched: () =>
      inTurn(async () => {
        // What is noted and not on disk yet is meant as well.
        await store.flush()
        await make()
        const { row: head, heads, closed, keys } = known
        return { head, listed: new Set([...heads.keys(), ...closed]), keys }
      }),
    prune: (before, limit) =>
      inTurn(async () => {
        if (readers > 0) return 0
        const upTo = await newestComplete(evidence, before)
        if (upTo === undefined) return 0
        // Signed for first: what is missing without that was taken out by somebody.
        await make(upTo)
        return pruneEvidence(evidence, upTo, limit)
      }),
    async *hold(work) {
      readers += 1
      try {
        yield* work()
      } finally {
        readers -= 1
      }
    },
    async stop() {
      if (stopped) return
      stopped = true
      timer?.cancel()
      await inTurn(async () => {
        await store.flush()
        await make()
      }).catch(failed)
      await anchor?.close()
    },
  }
}

function fold(known: Known, row: CheckpointRow): Known {
  const text = read(row)
  const isComplete = text.complete === text.number
  const closed = text.heads.filter((head) => head.closed).map(({ epoch }) => epoch)
  return {
    number: text.number,
    hash: row.hash,
    row,
    heads: new Map(text.heads.map((head) => [head.epoch, head])),
    complete: text.complete,
    completeAt: isComplete ? text.at : known.completeAt,
    dropped: text.dropped,
    closed: new Set(isComplete ? closed : [...known.closed, ...closed]),
    keys: text.keys ?? known.keys,
  }
}

function covers({ closed, heads }: Known, ends: readonly ChainEnd[]): boolean {
  return ends.every((end) => {
    const head = heads.get(end.epoch)
    return closed.has(end.epoch) || (head?.batch === end.batch && head.closed === end.closed)
  })
}

function read(row: CheckpointRow): CheckpointText {
  const text = readCheckpoint(row.body)
  if (text === undefined) throw new Error(`checkpoint ${row.number} of the store is not one of ours`)
  return text
}
