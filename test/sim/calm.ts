// The end of a run: the weather clears up, nothing goes wrong any more, and everything that can be settled must be, right.
import { effectsOf, type KeyRecord } from './history.ts'
import type { EntryRow, Facts } from './invariant.ts'
import { nameOf } from './ledger-rules.ts'
import { BEGIN } from './life.ts'
import type { OwnershipRules } from './ownership-rules.ts'
import type { Weather } from './plan.ts'
import { isRolledBack } from './send-rules.ts'
import { isHarmless } from './tool-service.ts'

export const CALM: Weather = Object.freeze({
  refused: 0,
  lost: 0,
  late: 0,
  replyLost: 0,
  cut: 0,
  slow: 0,
  trouble: 0,
  latencyMs: 5,
  flushMs: 2,
  readMs: 1,
})

/** How long it may take: a lease, the longest rest between two questions, and the time of a prepared effect. */
const CALM_MS = 300_000
const LOOK_MS = 2_000

/** Somebody has to be at work on these, and then they are over. */
const UNDER_WAY: ReadonlySet<string> = new Set([
  'reserved',
  'intended',
  'sent',
  'reconciling',
  'prepared',
  'committing',
  'rolling-back',
  'compensating',
])
/** Somebody is at work on these whatever became of the build since. */
const RUNS: ReadonlySet<string> = new Set(['intended', 'sent'])
const DONE: ReadonlySet<string> = new Set(['done', 'committed', 'compensating', 'compensation-failed'])
const NOT_DONE: ReadonlySet<string> = new Set(['not-done', 'canceled', 'rolled-back'])

export class CalmRules {
  readonly #facts: Facts
  readonly #owners: OwnershipRules
  #since: number | undefined
  #looked = Number.NEGATIVE_INFINITY

  constructor(facts: Facts, owners: OwnershipRules) {
    this.#facts = facts
    this.#owners = owners
  }

  get began(): boolean {
    return this.#since !== undefined
  }

  begin(): void {
    this.#since ??= this.#facts.agenda.now
  }

  /** Whether nothing is left to wait for. */
  isOver(): boolean {
    const { agenda, fail } = this.#facts
    if (this.#since === undefined || agenda.now < this.#looked + LOOK_MS) return false
    this.#looked = agenda.now
    const left = this.#left()
    if (left === undefined) return true
    if (agenda.now - this.#since > CALM_MS)
      fail('settles', `after ${CALM_MS} ms in which nothing went wrong: ${left}`)
    return false
  }

  /** Something that has to go on by itself. */
  #left(): string | undefined {
    const { ledger, agenda, history } = this.#facts
    for (const entry of ledger.entries()) {
      const what = `the entry of ${this.#nameOf(entry)} is ${entry.state}`
      const tool = history.callOfId(entry.callId)?.record.tool
      // Somebody decides, or its time is over.
      if (entry.state === 'awaiting-approval' && tool?.approval !== undefined) return what
      // Without its build nothing can be done about it.
      const runs = tool?.approval !== undefined && RUNS.has(entry.state)
      if (history.removed.has(tool?.name ?? '') && !runs) continue
      if (UNDER_WAY.has(entry.state)) return what
      if ((entry.state === 'unknown' || entry.state === 'commit-unknown') && this.#canBeAsked(entry))
        return what
    }
    for (const saga of ledger.sagas()) if (saga.state === 'aborting') return `${saga.id} is ${saga.state}`
    const [timer] = ledger.timers()
    if (timer !== undefined && timer.kind !== 'approval' && history.removed.size === 0)
      return `the ${timer.kind} timer of ${timer.subject} is set`
    // A minute is the longest that a replica may be away and others do not know.
    const [overdue] = this.#owners.overdue(BEGIN + agenda.now - 60_000)
    return overdue === undefined ? undefined : `timer ${overdue} is overdue`
  }

  /** The records of all calls against the tools' own logs. */
  check(): void {
    const { ledger, fail, history } = this.#facts
    const byKey = new Map(ledger.entries().map((entry) => [entry.callId, entry]))
    for (const record of history.records.values()) {
      const entry = record.calls.map(({ id }) => byKey.get(id)).find((one) => one !== undefined)
      if (entry === undefined || record.tool.kind === 'read') continue
      const effects = effectsOf(record).length
      if (DONE.has(entry.state) && effects === 0) {
        fail('settles', `${nameOf(record)} is ${entry.state}; the tool never did it`)
      }
      if (NOT_DONE.has(entry.state) && effects > 0) {
        fail('settles', `${nameOf(record)} is ${entry.state}; the tool did it`)
      }
      if (entry.state === 'rolled-back' && !record.errands.some(isRolledBack)) {
        fail('two-phase', `${nameOf(record)} is rolled-back; the tool never acknowledged that`)
      }
      const undone = this.#undone(record)
      if (entry.state === 'compensated' && (effects === 0 || undone === 0)) {
        fail('undo', `${nameOf(record)} is compensated; done ${effects} times, undone ${undone} times`)
      }
      if ((entry.state === 'done' || entry.state === 'committed') && undone > 0) {
        fail('undo', `${nameOf(record)} is ${entry.state}; it was undone`)
      }
      this.#checkSaga(record, entry, effects, undone)
    }
  }

  #checkSaga(record: KeyRecord, entry: EntryRow, effects: number, undone: number): void {
    const { ledger, fail } = this.#facts
    const saga = ledger.sagas().find(({ id }) => id === entry.saga)
    if (saga?.state === 'aborted' && effects > undone) {
      fail('saga', `${nameOf(record)} is ${entry.state} and had its effect; its saga was aborted`)
    }
  }

  #undone(record: KeyRecord): number {
    const undos = [...this.#facts.history.undos.values()].filter((one) => one.undoes === record)
    return undos.reduce((sum, one) => sum + effectsOf(one).length, 0)
  }

  /** By its tool. A person has to settle the rest; a repeat that is harmless is up to its caller in the end. */
  #canBeAsked({ callId, state, key }: EntryRow): boolean {
    const call = this.#facts.history.callOfId(callId)
    if (call === undefined) return key.startsWith('compensation:')
    const { tool } = call.record
    if (tool.query === undefined) return false
    return !isHarmless(tool) || state === 'commit-unknown'
  }

  #nameOf(entry: EntryRow): string {
    const call = this.#facts.history.callOfId(entry.callId)
    return call === undefined ? `call ${entry.callId}` : nameOf(call.record)
  }
}
