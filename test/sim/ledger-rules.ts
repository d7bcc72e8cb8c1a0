// What must be true of the database: how entries move, what a crash leaves, and that the evidence adds up.

import type { StoreReads } from '../../src/store/assemble-store.ts'
import type { Batch, EncodedResult } from '../../src/store/sqlite/codec.ts'
import type { EvidenceLink } from '../../src/store/store.ts'
import { verifyChain } from '../store/case/evidence-cases.ts'
import type { KeyRecord, SimCall } from './history.ts'
import type { Facts } from './invariant.ts'
import type { Life } from './life.ts'
import { foundIn } from './ownership-rules.ts'

/** The moves of this world, written out once more. Whether what waited may be intended is looked at elsewhere. */
const MOVES: Readonly<Record<string, readonly string[]>> = {
  'awaiting-approval': ['intended', 'not-done', 'canceled'],
  intended: ['sent', 'not-done', 'unknown', 'canceled'],
  sent: ['done', 'not-done', 'unknown', 'prepared', 'canceled'],
  'not-done': ['intended', 'awaiting-approval'],
  unknown: ['intended', 'reconciling', 'done', 'not-done'],
  reconciling: ['unknown', 'done', 'not-done', 'intended'],
  prepared: ['committing', 'rolling-back'],
  committing: ['committed', 'commit-unknown', 'prepared'],
  'commit-unknown': ['committed', 'prepared'],
  'rolling-back': ['rolled-back'],
  done: ['compensating'],
  committed: ['compensating'],
  compensating: ['compensated', 'compensation-failed'],
  'compensation-failed': ['compensating'],
}
const NEW_STATES = ['intended', 'awaiting-approval']
const OPEN = ['intended', 'sent']

/** How long a note may wait before it is written (S34). */
const LAG_MS = 50

export class LedgerRules {
  readonly #facts: Facts
  readonly #states = new Map<string, string>()
  /** Hears of every state that an entry comes into. */
  readonly #onState: (state: string) => void

  constructor(facts: Facts, onState: (state: string) => void) {
    this.#facts = facts
    this.#onState = onState
  }

  onCommit(batch: Batch, results: readonly EncodedResult[]): void {
    for (const [index, op] of batch.ops.entries()) {
      const result = results[index]
      if (typeof result === 'object' && 'kind' in result && result.kind === 'refused') {
        this.#facts.fail('transition', result.message)
      }
      if (op[0] === 'adopt-entries') for (const row of foundIn(result)) this.#adopted(String(row[7]))
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

  /** Its process died on it, or was taken for dead. */
  #adopted(callId: string): void {
    const call = this.#facts.history.callOfId(callId)
    if (call !== undefined) call.record.interrupted = true
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
    const last = path.at(-1)
    if (last !== undefined) this.#onState(last)
  }

  /** The process is gone; the database is as it left it. */
  onDeath(life: Life): void {
    const { history, ledger, agenda, fail, diskMs } = this.#facts
    const settled = new Set<KeyRecord>()
    for (const entry of ledger.entries()) {
      const record = history.callOfId(entry.callId)?.record
      if (record === undefined) {
        // What Writ undoes by itself has a key that says so.
        if (!entry.key.startsWith('compensation:')) {
          fail('truth', `an entry of call ${entry.callId}, which nobody made`)
        }
        continue
      }
      if (!OPEN.includes(entry.state)) settled.add(record)
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

  /** The next life has recovered and takes calls: alone, it has taken over everything that was left. */
  onReady(life: Life): void {
    const { ledger, fail, shared } = this.#facts
    if (shared) return
    for (const entry of ledger.entries()) {
      if (OPEN.includes(entry.state) && entry.epoch !== life.world.epoch) {
        fail('recovery', `the entry of call ${entry.callId} is still ${entry.state} after the restart`)
      }
    }
  }

  /** S39, over every life of the run. */
  checkChain(evidence: StoreReads['evidence']): void {
    const known = new Set<string>()
    for (const epoch of evidence.epochs() as readonly string[]) {
      const links = evidence.links(epoch, 1, 1_000_000) as readonly EvidenceLink[]
      try {
        verifyChain(links)
      } catch (error) {
        this.#facts.fail('chain', error instanceof Error ? error.message : String(error))
      }
      const start = links[0]?.records[0]
      const previous = start?.body.previous_hash ?? undefined
      if (start?.type !== 'runtime.started' || (previous !== undefined && !known.has(String(previous)))) {
        this.#facts.fail('chain', `life ${epoch} does not begin where another one was`)
      }
      if (previous === undefined && known.size > 0)
        this.#facts.fail('chain', `life ${epoch} knows of none before`)
      for (const { hash } of links) known.add(hash)
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
