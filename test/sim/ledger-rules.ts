// What must be true of the database: how entries move, what a crash leaves, and that the evidence adds up.

import type { StoreReads } from '../../src/store/assemble-store.ts'
import type { Batch, EncodedResult } from '../../src/store/sqlite/codec.ts'
import { verifyChain } from '../store/case/evidence-cases.ts'
import type { KeyRecord, SimCall } from './history.ts'
import type { Facts } from './invariant.ts'
import type { Life } from './life.ts'

/** The moves of this world, written out once more. There is no approval and no settling by hand in it. */
const MOVES: Readonly<Record<string, readonly string[]>> = {
  intended: ['sent', 'not-done', 'unknown', 'canceled'],
  sent: ['done', 'not-done', 'unknown', 'canceled'],
  'not-done': ['intended', 'awaiting-approval'],
  unknown: ['intended'],
}
const NEW_STATES = ['intended', 'awaiting-approval']
const OPEN = ['intended', 'sent']

/** How long a note may wait before it is written (S34). */
const LAG_MS = 50

export class LedgerRules {
  readonly #facts: Facts
  readonly #states = new Map<string, string>()
  /** Writes that were open when their process died. */
  readonly #left = new Set<KeyRecord>()

  constructor(facts: Facts) {
    this.#facts = facts
  }

  onCommit(batch: Batch, results: readonly EncodedResult[]): void {
    for (const [index, op] of batch.ops.entries()) {
      const result = results[index]
      if (typeof result === 'object' && 'kind' in result && result.kind === 'refused') {
        this.#facts.fail('transition', result.message)
      }
      if (op[0] !== 'write' || op[1] === null || result !== 0) continue
      if (op[1][0] === 'insert') {
        const [, scope, key, , state] = op[1][1] as readonly string[]
        this.#insert(`${scope} ${key}`, String(state))
      } else {
        const [, scope, key, , path] = op[1]
        this.#move(`${scope} ${key}`, path)
      }
    }
  }

  #insert(key: string, state: string): void {
    // A read is written once, when it is over.
    const settledRead = state === 'done' || state === 'not-done' || state === 'canceled'
    if (this.#states.has(key) || !(NEW_STATES.includes(state) || settledRead)) {
      this.#facts.fail(
        'transition',
        `${key} is inserted as ${state} over ${this.#states.get(key) ?? 'nothing'}`,
      )
    }
    this.#states.set(key, state)
  }

  #move(key: string, path: readonly string[]): void {
    for (const next of path) {
      const at = this.#states.get(key) ?? 'nothing'
      if (!MOVES[at]?.includes(next)) this.#facts.fail('transition', `${key} moved from ${at} to ${next}`)
      this.#states.set(key, next)
    }
  }

  /** The process is gone; the database is as it left it. */
  onDeath(life: Life): void {
    const { history, ledger, agenda, fail, diskMs } = this.#facts
    const settled = new Set<KeyRecord>()
    for (const entry of ledger.entries()) {
      const record = history.callOfId(entry.callId)?.record
      if (record === undefined) {
        fail('truth', `an entry of call ${entry.callId}, which nobody made`)
        continue
      }
      if (OPEN.includes(entry.state)) this.#left.add(record)
      else settled.add(record)
    }
    // What was noted and not written yet may be missing, and no more (S34).
    const endedAt = life.failedAt ?? agenda.now
    const since = endedAt - LAG_MS - diskMs
    for (const call of history.calls) {
      if (call.life !== life || call.answer === undefined || call.answer.state === 'running') continue
      if (ledger.hasCall(call.id)) continue
      call.forgotten = true
      const answeredAt = call.answeredAt ?? 0
      if (answeredAt < since && life.disturbedAt < answeredAt) {
        fail('lag', `${call.name} was answered ${endedAt - answeredAt} ms before the end and is on no record`)
      }
    }
    for (const record of history.records.values()) {
      if (record.tool.kind !== 'read' || record.told === undefined || settled.has(record)) continue
      if (record.told.call.forgotten || record.told.answer.replayed) record.told = undefined
    }
  }

  /** The next life has recovered and takes calls. */
  onReady(life: Life): void {
    const { history, ledger, fail } = this.#facts
    for (const entry of ledger.entries()) {
      const record = history.callOfId(entry.callId)?.record
      if (record === undefined) continue
      const mine = entry.epoch === life.world.epoch
      if (OPEN.includes(entry.state) && !mine) {
        fail('recovery', `${nameOf(record)} is still ${entry.state} after the restart`)
      }
      if (!this.#left.has(record)) continue
      if (entry.state !== 'unknown')
        fail('recovery', `${nameOf(record)} was left open and is ${entry.state} now`)
      record.interrupted = true
    }
    this.#left.clear()
  }

  /** S39, over every life of the run. */
  checkChain(evidence: StoreReads['evidence']): void {
    let before: { hash: string; epoch: string } | undefined
    for (const epoch of evidence.epochs()) {
      const links = evidence.links(epoch, 1, 1_000_000)
      try {
        verifyChain(links)
      } catch (error) {
        this.#facts.fail('chain', error instanceof Error ? error.message : String(error))
      }
      const start = links[0]?.records[0]
      if (
        start?.type !== 'runtime.started' ||
        (start.body.previous_hash ?? undefined) !== before?.hash ||
        (start.body.previous_epoch ?? undefined) !== before?.epoch
      ) {
        this.#facts.fail('chain', `life ${epoch} does not begin where the one before it ended`)
      }
      before = { epoch, hash: links.at(-1)?.hash ?? '' }
    }
  }
}

export function nameOf(record: KeyRecord): string {
  return `${record.tool.name} key '${record.key}' of ${record.actor}`
}

/** For messages about one call. */
export function nameOfCall(call: SimCall): string {
  return `${call.name} (${nameOf(call.record)})`
}
