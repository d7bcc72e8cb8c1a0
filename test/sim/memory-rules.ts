// What a key was told, it is told again: outcomes never change, open states are not forgotten (S16).
import { isDeepStrictEqual } from 'node:util'
import type { Answer } from '../../src/contract/answer.ts'
import type { CallRecord } from '../../src/contract/call.ts'
import { type KeyRecord, type SimCall, samenessOf } from './history.ts'
import type { Facts } from './invariant.ts'
import { nameOfCall } from './ledger-rules.ts'
import { isNever } from './send-rules.ts'

/** How long outcomes are kept in this world (S18). */
export const KEEP_MS = 20 * 60_000
/** The wall clock may be off by this much on either side. */
export const CLOCK_SLACK_MS = 10_000

const NOT_RECORDED: ReadonlySet<string> = new Set(['intent-not-recorded', 'outcome-not-recorded'])

export class MemoryRules {
  readonly #facts: Facts

  constructor(facts: Facts) {
    this.#facts = facts
  }

  /** Once told, always told (S16). */
  check(call: SimCall, answer: Answer): void {
    const { fail, agenda } = this.#facts
    const name = nameOfCall(call)
    const { record, ask } = call
    // Replicas join reads in memory, each its own (S20).
    if (this.#facts.shared && record.tool.kind === 'read') return
    // Settled by hand it may have been sent again since.
    if (record.settledByHand) record.open = undefined
    const known = record.told ?? record.open
    if (known !== undefined && !this.#isExcused(call, answer)) {
      const same = samenessOf(known.call.ask, record.tool) === samenessOf(ask, record.tool)
      const before = `${known.call.name} was told ${sayOf(known.answer)}`
      // Where the key was taken while it was being decided, its effect may be found first: it is refused all the same.
      const refused = answer.failure?.id === 'key-conflict' || answer.failure?.id === 'effect-repeated'
      if (!same && !refused) {
        fail('outcome', `${name} asks for something else and was told ${sayOf(answer)}; ${before}`)
      } else if (
        same &&
        !(record.told ? isSameOutcome(known.answer, answer) : known.answer.state === answer.state)
      ) {
        fail('outcome', `${name} was told ${sayOf(answer)}; ${before}`)
      } else if (same && !known.answer.replayed && !answer.replayed) {
        fail('outcome', `${name} was told ${sayOf(answer)} as its own; ${before}`)
      }
      // Those who joined may hear of it before the one who ran it.
      if (same && !answer.replayed && record.told !== undefined) record.told = { call, answer, at: known.at }
      return
    }
    const told = { call, answer, at: agenda.now }
    const settled = answer.replayed || this.#facts.ledger.entryOfCall(call.id) !== undefined
    if (isOpenForGood(answer, record) && settled) record.open ??= told
    if (
      isRemembered(answer) &&
      !(answer.replayed && record.tool.onRepeat === 'replay' && record.sends.length === 0)
    ) {
      record.told ??= told
    }
  }

  /** Says nothing about the key: the caller left, or the process can no longer tell. */
  #isExcused(call: SimCall, answer: Answer): boolean {
    const id = answer.failure?.id
    if (answer.state === 'running') return true
    if (answer.state === 'canceled' && answer.effect === 'pending' && call.canceledAt !== undefined)
      return true
    const unwritten = call.life.failedAt !== undefined || this.#facts.shared
    if (unwritten && NOT_RECORDED.has(id ?? '')) return true
    if (call.life.closing && id === 'tool-unhealthy') return true
    // It was true when it was written: the key has gone on since, elsewhere.
    const { shared } = this.#facts
    const later = call.record.told?.call.startedAt ?? Number.NEGATIVE_INFINITY
    if (shared && !answer.replayed && answer.failure?.retryable === true && later >= call.startedAt)
      return true
    // It looked before that: a process that was frozen since says what was true then, and is open, or refused.
    const looked = shared && later >= call.startedAt
    if (looked && (!answer.final || id === 'effect-repeated')) return true
    // It looked before the other was told: it waits for people, as far as it knows.
    const known = call.record.told ?? call.record.open
    if (shared && answer.state === 'awaiting-approval' && (known?.at ?? 0) >= call.startedAt) return true
    // It never came to its key.
    if (answer.effect === 'none' && answer.failure?.retryable === true) return true
    // Decided anew each time (S16).
    return id === 'key-expired' || id === 'saga-closed' || id === 'deadline-past'
  }

  /** What a call ended with is what is shown for its id from then on. */
  onLook(call: SimCall, found: CallRecord | undefined): void {
    const { fail, agenda } = this.#facts
    const { answer } = call
    // A call that a failed disk refused may turn up as left open: nobody knows what such a disk has kept (S37).
    if (answer === undefined || call.life.failedAt !== undefined) return
    // While the database is out of reach nothing is noted, either.
    if (this.#facts.shared && NOT_RECORDED.has(answer.failure?.id ?? '')) return
    if (found === undefined) {
      const away = this.#facts.shared && call.life.awayUntil >= (call.answeredAt ?? 0)
      if (!call.forgotten && !away) fail('outcome', `${nameOfCall(call)} is not found by its id`)
      return
    }
    const output = found.answer?.output
    const erased = agenda.now - (call.answeredAt ?? 0) > KEEP_MS - CLOCK_SLACK_MS
    // The output of a read lies in an entry that is written behind: it may not be there yet.
    const behind = call.record.tool.kind === 'read' && output === undefined
    const same = erased || behind || isDeepStrictEqual(output, answer.output)
    // What was done may have been undone since.
    const undone = answer.effect === 'done' && found.effect === 'compensated'
    if (found.state !== answer.state || (found.effect !== answer.effect && !undone) || !same) {
      const shown = `${found.state}, effect ${found.effect}, ${JSON.stringify(output)}`
      fail('outcome', `${nameOfCall(call)} was told ${sayOf(answer)}; it is shown as ${shown}`)
    }
  }
}

export function mayBeErased(record: KeyRecord, now: number): boolean {
  // Somebody who did not wait for the outcome was never told it.
  const since = record.told?.at ?? record.calls[0]?.startedAt ?? 0
  return now - since > KEEP_MS - CLOCK_SLACK_MS
}

/** S16: stored and replayed. */
function isRemembered({ state, effect, failure }: Answer): boolean {
  if (effect === 'pending' || failure?.retryable === true) return false
  // Decided anew each time: the build may come back.
  if (failure?.id === 'version-unmatched') return false
  // What people refused stays refused; any other denial is decided anew.
  if (failure?.id === 'approval-denied') return true
  return state === 'succeeded' || state === 'failed' || state === 'canceled' || state === 'timed-out'
}

/** Held until somebody settles it. */
function isOpenForGood({ state, failure }: Answer, record: KeyRecord): boolean {
  return state === 'unknown' && failure?.id !== 'outcome-not-recorded' && isNever(record.tool)
}

function isSameOutcome(one: Answer, other: Answer): boolean {
  return (
    one.state === other.state &&
    (one.effect === other.effect || (one.effect === 'done' && other.effect === 'compensated')) &&
    one.failure?.id === other.failure?.id &&
    isDeepStrictEqual(one.output, other.output)
  )
}

function sayOf({ state, effect, failure, output }: Answer): string {
  return `${state}, effect ${effect}${failure ? `, ${failure.id}` : ''}${output === undefined ? '' : `, ${JSON.stringify(output)}`}`
}
