// The disk: where a batch is committed, with a moment before the COMMIT and one between it and the acknowledgement, in
// either of which the process can die; and flushes that stand still, or fail. Where replicas share it, it is a database
// elsewhere: it may be out of reach for a while, and what was lost on the way is looked for again, by its number.
import type { DatabaseSync } from 'node:sqlite'
import type { Batch, EncodedResult } from '../../src/store/sqlite/codec.ts'
import { createEngine } from '../../src/store/sqlite/engine.ts'
import type { Flusher } from '../../src/store/sqlite/flusher.ts'
import { Fenced } from '../../src/store/store.ts'
import type { Agenda } from './agenda.ts'
import { BEGIN, type Life } from './life.ts'
import type { Random } from './random.ts'

/** What is to happen in a flush. */
export type FlushFault =
  | { readonly kind: 'crash-in-flush'; readonly when: 'before-commit' | 'after-commit' }
  | { readonly kind: 'failed-flush'; readonly committed: boolean; readonly exitMs: number }
  | { readonly kind: 'stall'; readonly ms: number }
  | { readonly kind: 'lost-ack'; readonly ms: number }

export interface DiskWatch {
  /** The fault of a flush, by its number over all lives. */
  faultOf(flush: number): FlushFault | undefined
  onCommit(life: Life, batch: Batch, results: readonly EncodedResult[]): void
  /** The disk stands still until then. */
  onStall(life: Life, until: number): void
  onFailed(life: Life, exitMs: number): void
  /** The store refused a life that another one has ended. */
  onFenced(life: Life): void
  crash(life: Life, why: string): void
}

export interface DiskOptions {
  readonly agenda: Agenda
  readonly database: DatabaseSync
  readonly random: Random
  readonly flushMs: number
  readonly watch: DiskWatch
  readonly log: (line: string) => void
}

/** A batch without its time: the database gives it that, when it applies it. */
type Unstamped = Omit<Batch, 'at'>

/** How long a replica that was fenced takes to exit. */
const EXIT_MS = 400

export class Disk {
  readonly #options: DiskOptions
  #flushes = 0
  #moves = 0

  constructor(options: DiskOptions) {
    this.#options = options
  }

  get flushes(): number {
    return this.#flushes
  }

  /** By the clock of the database, which is never set. */
  get now(): number {
    return BEGIN + this.#options.agenda.now
  }

  flusherOf(life: Life): Flusher {
    const engine = createEngine(this.#options.database)
    return {
      flush: (batch) => this.#flush(life, batch, (one) => engine.apply({ ...one, at: this.now })),
      close: () => Promise.resolve(),
    }
  }

  /** Never settles when the process dies in it. */
  #flush(
    life: Life,
    batch: Unstamped,
    apply: (batch: Unstamped) => readonly EncodedResult[],
  ): Promise<readonly EncodedResult[]> {
    const { agenda, random, flushMs, watch, log } = this.#options
    const { promise, resolve, reject } = Promise.withResolvers<readonly EncodedResult[]>()
    if (life.dead) return promise
    const number = ++this.#flushes
    const dice = random.fork('flush', number)
    const fault = this.#faultOf(batch, number)
    log(`  flush ${number} of ${life.name}: ${batch.ops.map(([verb]) => verb).join(' ')}`)
    const fail = (exitMs: number) => {
      log(`  flush ${number}: failed`)
      watch.onFailed(life, exitMs)
      reject(new Error('fsync: input/output error'))
    }
    const write = () => {
      if (life.awayUntil > agenda.now) {
        // It is sent again once the database can be reached; nothing of it is there yet.
        agenda.after(life.awayUntil - agenda.now, life, `flush ${number} sent again`, write)
        return
      }
      if (fault?.kind === 'crash-in-flush' && fault.when === 'before-commit') {
        return watch.crash(life, `before the commit of flush ${number}`)
      }
      if (fault?.kind === 'failed-flush' && !fault.committed) return fail(fault.exitMs)
      const results = this.#apply(life, batch, apply, number)
      if (results instanceof Fenced) {
        reject(results)
        return
      }
      if (fault?.kind === 'crash-in-flush') return watch.crash(life, `after the commit of flush ${number}`)
      if (fault?.kind === 'failed-flush') return fail(fault.exitMs)
      if (fault?.kind === 'lost-ack') this.#lose(life, number, fault.ms)
      acknowledge(results)
    }
    // An acknowledgement that is lost is found when the replica reaches the database again.
    const acknowledge = (results: readonly EncodedResult[]) => {
      const ms = Math.max(0, life.awayUntil - agenda.now) + dice.int(0, flushMs)
      agenda.after(ms, life, `flush ${number} acknowledged`, () => {
        if (life.awayUntil > agenda.now) acknowledge(results)
        else resolve(results)
      })
    }
    const stall = fault?.kind === 'stall' ? fault.ms : 0
    if (stall > 0) watch.onStall(life, agenda.now + stall + flushMs)
    agenda.after(stall + dice.int(0, flushMs), life, `flush ${number} written`, write)
    return promise
  }

  /** Most batches of a replica only renew its lease: there faults are counted by those that move an entry. */
  #faultOf({ leaseMs, ops }: Unstamped, number: number): FlushFault | undefined {
    const { watch } = this.#options
    if (leaseMs === null) return watch.faultOf(number)
    return ops.some((op) => op[0] === 'write' && op[1] !== null) ? watch.faultOf(++this.#moves) : undefined
  }

  #apply(
    life: Life,
    batch: Unstamped,
    apply: (batch: Unstamped) => readonly EncodedResult[],
    number: number,
  ): readonly EncodedResult[] | Fenced {
    const { agenda, watch, log } = this.#options
    try {
      const results = apply(batch)
      log(`  flush ${number}: committed`)
      watch.onCommit(life, { ...batch, at: this.now }, results)
      return results
    } catch (error) {
      if (!(error instanceof Fenced)) throw error
      log(`  flush ${number}: ${life.name} is fenced`)
      watch.onFenced(life)
      watch.onFailed(life, agenda.now % EXIT_MS)
      return error
    }
  }

  #lose(life: Life, number: number, ms: number): void {
    const { agenda, watch, log } = this.#options
    log(`  flush ${number}: its acknowledgement is lost`)
    life.awayUntil = Math.max(life.awayUntil, agenda.now + ms)
    watch.onStall(life, life.awayUntil)
  }
}
