// The disk: where a batch is committed, with a moment before the COMMIT and one between it and the acknowledgement, in
// either of which the process can die; and flushes that stand still, or fail.
import type { DatabaseSync } from 'node:sqlite'
import type { Batch, EncodedResult } from '../../src/store/sqlite/codec.ts'
import { createEngine } from '../../src/store/sqlite/engine.ts'
import type { Flusher } from '../../src/store/sqlite/flusher.ts'
import type { Agenda } from './agenda.ts'
import type { Life } from './life.ts'
import type { Random } from './random.ts'

/** What is to happen in a flush. */
export type FlushFault =
  | { readonly kind: 'crash-in-flush'; readonly when: 'before-commit' | 'after-commit' }
  | { readonly kind: 'failed-flush'; readonly committed: boolean; readonly exitMs: number }
  | { readonly kind: 'stall'; readonly ms: number }

export interface DiskWatch {
  /** The fault of this flush, by its number over all lives. */
  faultOf(flush: number): FlushFault | undefined
  onCommit(life: Life, batch: Batch, results: readonly EncodedResult[]): void
  /** The disk stands still until then. */
  onStall(life: Life, until: number): void
  onFailed(life: Life, exitMs: number): void
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

export class Disk {
  readonly #options: DiskOptions
  #flushes = 0

  constructor(options: DiskOptions) {
    this.#options = options
  }

  get flushes(): number {
    return this.#flushes
  }

  flusherOf(life: Life): Flusher {
    const engine = createEngine(this.#options.database)
    return {
      flush: (batch) => this.#flush(life, batch, (one) => engine.apply(one)),
      close: () => Promise.resolve(),
    }
  }

  /** Never settles when the process dies in it. */
  #flush(
    life: Life,
    batch: Batch,
    apply: (batch: Batch) => readonly EncodedResult[],
  ): Promise<readonly EncodedResult[]> {
    const { agenda, random, flushMs, watch, log } = this.#options
    const { promise, resolve, reject } = Promise.withResolvers<readonly EncodedResult[]>()
    if (life.dead) return promise
    const number = ++this.#flushes
    const dice = random.fork('flush', number)
    const fault = watch.faultOf(number)
    log(`  flush ${number}: ${batch.ops.length} writes`)
    const fail = (exitMs: number) => {
      log(`  flush ${number}: failed`)
      watch.onFailed(life, exitMs)
      reject(new Error('fsync: input/output error'))
    }
    const write = () => {
      if (fault?.kind === 'crash-in-flush' && fault.when === 'before-commit') {
        return watch.crash(life, `before the commit of flush ${number}`)
      }
      if (fault?.kind === 'failed-flush' && !fault.committed) return fail(fault.exitMs)
      const results = apply(batch)
      log(`  flush ${number}: committed`)
      watch.onCommit(life, batch, results)
      if (fault?.kind === 'crash-in-flush') return watch.crash(life, `after the commit of flush ${number}`)
      if (fault?.kind === 'failed-flush') return fail(fault.exitMs)
      agenda.after(dice.int(0, flushMs), life, `flush ${number} acknowledged`, () => resolve(results))
    }
    const stall = fault?.kind === 'stall' ? fault.ms : 0
    if (stall > 0) watch.onStall(life, agenda.now + stall + flushMs)
    agenda.after(stall + dice.int(0, flushMs), life, `flush ${number} written`, write)
    return promise
  }
}
