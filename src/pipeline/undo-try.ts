// A try to undo an effect, as it is kept with the entry of that effect: begun, looked at and ended (S29).
import type { Caller } from '../contract/caller.ts'
import type { EffectState } from '../contract/effect.ts'
import { type Compensation, EFFECT_OF_STATE, type Entry, type EntryOutcome } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure } from '../contract/projection.ts'
import { scopeOf } from '../ledger/fingerprint.ts'
import type { Fact, Move } from '../ledger/ledger.ts'
import type { TimerChange } from '../store/store.ts'
import type { JsonObject } from '../util/json.ts'
import { asCompensated } from './closed-record.ts'
import type { Kit } from './kit.ts'
import { planUndo, type UndoPlan, undoKey, undoRefusal } from './undo-plan.ts'

/** Kept with the timer: how often the try was run, and looked at since. */
export interface UndoBy {
  readonly runs: number
  readonly looks: number
}

export const FIRST_RUN: UndoBy = { runs: 1, looks: 0 }

export type Beginning =
  /** The write that begins it. No plan where an earlier try goes on, or the build that could make one is not here. */
  | { readonly kind: 'begin'; readonly move: Move; readonly plan?: UndoPlan }
  | { readonly kind: 'refused' | 'absent'; readonly failure: Failure }

/** Another try, unless an earlier one may still undo it; where an earlier one has after all, that one goes on. */
export async function beginning(entry: Entry, caller: Caller, inMs: number, kit: Kit): Promise<Beginning> {
  const before = entry.state === 'compensation-failed' ? entry.outcome?.compensation : undefined
  const earlier = before && (await kit.ledger.find(before.scope, before.key))
  if (before !== undefined && earlier !== undefined) {
    const effect = EFFECT_OF_STATE[earlier.state]
    if (isOpenEffect(effect)) {
      const why = `call ${earlier.callId}, which was to undo it, is ${earlier.state}; that has to be settled first`
      return undoRefusal(entry, EFFECT_OF_STATE[entry.state], why, {})
    }
    if (effect === 'done') {
      const { failure: _, ...again } = before
      return { kind: 'begin', move: beginningMove(entry, again, inMs) }
    }
  }
  const plan = planUndo(entry, kit)
  if (plan.kind === 'refused') return plan
  if (plan.kind === 'plan') {
    return { kind: 'begin', move: beginningMove(entry, nextTry(entry, plan, caller, kit), inMs), plan }
  }
  // The build is what it was at the try before: it would say the same.
  return before === undefined
    ? plan
    : { kind: 'begin', move: beginningMove(entry, nextTry(entry, before, caller, kit), inMs) }
}

function nextTry(
  entry: Entry,
  { tool, operation }: Pick<Compensation, 'tool' | 'operation'>,
  caller: Caller,
  kit: Kit,
): Compensation {
  const tries = triesOf(entry) + 1
  return {
    callId: kit.world.id(),
    tries,
    caller,
    tool,
    operation,
    scope: scopeOf(entry.namespace, caller.actor, tool, operation),
    key: undoKey(entry.id, tries),
  }
}

function beginningMove(entry: Entry, next: Compensation, inMs: number): Move {
  const outcome = withCompensation(entry, next)
  return {
    path: ['compensating'],
    set: { outcome },
    facts: [startedFact(entry, next)],
    timers: [undoTimer(entry.id, inMs, FIRST_RUN)],
  }
}

/** An outcome never changes: every run is a call of its own, though all runs of a try have one key. */
export function nextRun(entry: Entry, kit: Kit): Move {
  const next = { ...tryOf(entry), callId: kit.world.id() }
  return { path: [], set: { outcome: withCompensation(entry, next) }, facts: [startedFact(entry, next)] }
}

/** The end of the try: `cause` says why it did not undo anything. */
export async function ending(entry: Entry, cause: Failure | undefined, kit: Kit): Promise<Move> {
  const at = kit.world.clock.now()
  const { failure: _, ...last } = tryOf(entry)
  const timers = [{ kind: 'compensation', subject: entry.id } as const]
  if (cause === undefined) {
    const record = await kit.ledger.call(entry.namespace, entry.callId)
    return {
      path: ['compensated'],
      set: { outcome: withCompensation(entry, last), settledAt: at },
      calls: record === undefined ? [] : [asCompensated(record)],
      facts: [{ type: 'compensation.completed', body: factBody(entry, last) }],
      timers,
    }
  }
  const failure = failureOf(entry, last, cause)
  return {
    path: ['compensation-failed'],
    set: { outcome: withCompensation(entry, { ...last, failure }), settledAt: at },
    calls: [],
    facts: [{ type: 'compensation.failed', body: { ...factBody(entry, last), failure: cause.id } }],
    timers,
  }
}

function failureOf(entry: Entry, { callId, tries }: Compensation, cause: Failure): Failure {
  return createFailure('compensation-failed', {
    message: `call ${entry.callId} could not be undone: ${cause.message}`,
    details: { call_id: entry.callId, compensation_call_id: callId, tries, failure: cause.id },
  })
}

/** Whether the call that undoes may still have, or have had, its effect. */
export function isOpenEffect(effect: EffectState): boolean {
  return effect === 'pending' || effect === 'unknown' || effect === 'prepared'
}

export function undoTimer(entryId: string, inMs: number, by: UndoBy): TimerChange {
  return { kind: 'compensation', subject: entryId, inMs, data: { ...by } }
}

/** Of an entry that is being undone. */
export function tryOf(entry: Entry): Compensation {
  const last = entry.outcome?.compensation
  if (last === undefined) throw new Error(`entry ${entry.id} is ${entry.state} and has no try`)
  return last
}

export function triesOf(entry: Entry): number {
  return entry.outcome?.compensation?.tries ?? 0
}

function withCompensation(entry: Entry, compensation: Compensation): EntryOutcome {
  return { ...(entry.outcome ?? { sideEffects: [], warnings: [] }), compensation }
}

function startedFact(entry: Entry, next: Compensation): Fact {
  return { type: 'compensation.started', body: { ...factBody(entry, next), actor: next.caller.actor } }
}

function factBody({ id, tool, operation }: Entry, { callId, tries }: Compensation): JsonObject {
  return { entry_id: id, tool, operation, compensation_call_id: callId, tries }
}
