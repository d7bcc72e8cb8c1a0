// Undoes a done effect (S29): a call like any other, in somebody's name, at most once per try.
//
// `compensating` is on disk, with a timer, before that call begins; its key is made from the entry, so that whoever goes
// on after a crash meets the same call in the ledger instead of making another one. What became of that call is read
// from the ledger first: a process that lacks the build can tell, too, and one that cannot tell never calls it failed.
import { type Answer, isOutcome } from '../contract/answer.ts'
import type { Caller } from '../contract/caller.ts'
import type { Entry } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure } from '../contract/projection.ts'
import type { Store } from '../store/store.ts'
import type { Kit } from './kit.ts'
import { receive } from './receive.ts'
import { resultOfEntry } from './result.ts'
import type { CallResult, FactSink, Received } from './stages.ts'
import { planUndo, type UndoPlan, undoCall, undoKey } from './undo-plan.ts'
import {
  beginning,
  ending,
  FIRST_RUN,
  isOpenEffect,
  nextRun,
  triesOf,
  tryOf,
  type UndoBy,
  undoTimer,
} from './undo-try.ts'

export interface UndoKit extends Kit {
  readonly store: Store
  /** Runs a call where it can be seen and stopped, as those of the doors. */
  readonly run: (make: (onFact: FactSink) => Received) => Promise<Answer>
}

export type Undone =
  | { readonly kind: 'compensated'; readonly entry: Entry }
  | { readonly kind: 'failed'; readonly entry: Entry; readonly failure: Failure }
  /** It waits for something and goes on by itself, after `inMs`. */
  | { readonly kind: 'open'; readonly entry: Entry; readonly inMs: number; readonly by: UndoBy }
  /** There is nothing to undo, or no way to. */
  | { readonly kind: 'refused'; readonly failure: Failure }
  /** The build that ran is not here to say how; nothing was begun. */
  | { readonly kind: 'absent'; readonly failure: Failure }

/** Somebody else goes on after this time when the process that began it has died. */
const BACKUP_MS = 10_000
const MAX_RUNS = 5
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000
/** How often a build that is not here is looked for: about 30 days. */
const BUILD_LOOKS = (30 * 86_400_000) / LONGEST_WAIT_MS

export async function compensate(entry: Entry, caller: Caller, kit: UndoKit): Promise<Undone> {
  if (entry.state === 'compensating') return { kind: 'open', entry, inMs: waitOf(1), by: FIRST_RUN }
  const begun = await beginning(entry, caller, BACKUP_MS, kit)
  if (begun.kind !== 'begin') return begun
  const moved = await kit.ledger.move(entry, begun.move)
  if (moved.kind === 'moved') {
    const undoing =
      begun.plan === undefined
        ? goOnUndoing(moved.entry, FIRST_RUN, kit)
        : runUndo(moved.entry, begun.plan, FIRST_RUN, kit)
    return keepLooking(await undoing, kit)
  }
  // Somebody was faster. It may be at it, or be done with it.
  const now = await kit.store.entries.get(entry.namespace, entry.id)
  return now === undefined || now.revision === entry.revision
    ? { kind: 'open', entry, inMs: waitOf(1), by: FIRST_RUN }
    : compensate(now, caller, kit)
}

/** The timer was set for the case that this process dies: now it is known when to look again. */
async function keepLooking(undone: Undone, kit: UndoKit): Promise<Undone> {
  if (undone.kind !== 'open') return undone
  const { entry, inMs, by } = undone
  const moved = await kit.ledger.move(entry, { path: [], timers: [undoTimer(entry.id, inMs, by)] })
  return moved.kind === 'moved' ? { ...undone, entry: moved.entry } : undone
}

/** Goes on with an entry that is `compensating`, from whatever is on disk. */
export async function goOnUndoing(entry: Entry, by: UndoBy, kit: UndoKit): Promise<Undone> {
  const { scope, key } = tryOf(entry)
  const found = await kit.ledger.find(scope, key)
  const seen = found && resultOfEntry(found)
  if (seen !== undefined && !mayRunAgain(seen, by)) return judge(entry, seen, by, kit)
  const plan = planUndo(entry, kit)
  if (plan.kind !== 'plan') {
    const mayHaveHappened = seen !== undefined && isOpenEffect(seen.effect)
    const mayCome = plan.kind === 'absent' && by.looks < BUILD_LOOKS
    return mayHaveHappened || mayCome ? lookAgain(entry, by) : endUndo(entry, plan.failure, kit)
  }
  const renewed = await kit.ledger.move(entry, nextRun(entry, kit))
  if (renewed.kind === 'conflict') return { kind: 'open', entry, inMs: waitOf(1), by }
  return runUndo(renewed.entry, plan, { ...by, runs: by.runs + 1 }, kit)
}

async function runUndo(entry: Entry, plan: UndoPlan, by: UndoBy, kit: UndoKit): Promise<Undone> {
  const { callId, caller } = tryOf(entry)
  const call = undoCall(plan, callId, undoKey(entry.id, triesOf(entry)), entry, kit)
  const make = (onFact: FactSink): Received => ({
    ...receive(call, caller, kit.world, onFact),
    undoes: plan.undoes,
  })
  return judge(entry, await kit.run(make), by, kit)
}

type Seen = Pick<CallResult, 'state' | 'effect' | 'failure'>

/** Worth another run: it did not happen, or its repeat is harmless. While nobody knows, there is no last one. */
function mayRunAgain({ state, effect, failure }: Seen, by: UndoBy): boolean {
  if (!isOutcome(state) || failure?.retryable !== true) return false
  return effect === 'unknown' || by.runs < MAX_RUNS
}

function judge(entry: Entry, seen: Seen, by: UndoBy, kit: UndoKit): Promise<Undone> | Undone {
  if (seen.state === 'succeeded' && seen.effect !== 'not-done') return endUndo(entry, undefined, kit)
  if (mayRunAgain(seen, by)) return { kind: 'open', entry, inMs: waitOf(by.runs), by: { ...by, looks: 0 } }
  // A run can be over, denied or canceled say, while what it went on with is still in question.
  if (!isOutcome(seen.state) || isOpenEffect(seen.effect)) return lookAgain(entry, by)
  return endUndo(entry, seen.failure ?? createFailure('internal'), kit)
}

function lookAgain(entry: Entry, by: UndoBy): Undone {
  const looks = by.looks + 1
  return { kind: 'open', entry, inMs: waitOf(looks), by: { ...by, looks } }
}

/** The end of a try. Written against the newest revision: a look by somebody else must not undo what is known. */
async function endUndo(entry: Entry, cause: Failure | undefined, kit: UndoKit): Promise<Undone> {
  let at = entry
  for (;;) {
    const moved = await kit.ledger.move(at, await ending(at, cause, kit))
    if (moved.kind === 'moved') return undoneOf(moved.entry)
    const now = await kit.store.entries.get(entry.namespace, entry.id)
    if (now === undefined || now.revision === at.revision)
      throw new Error(`entry ${entry.id} cannot be moved`)
    if (now.state !== 'compensating' || triesOf(now) !== triesOf(entry)) return undoneOf(now)
    at = now
  }
}

/** What somebody else, or this very write, has made of it. */
function undoneOf(entry: Entry): Undone {
  if (entry.state === 'compensated') return { kind: 'compensated', entry }
  const failure = entry.outcome?.compensation?.failure
  if (entry.state === 'compensation-failed' && failure !== undefined)
    return { kind: 'failed', entry, failure }
  return { kind: 'open', entry, inMs: waitOf(1), by: FIRST_RUN }
}

/** Twice as long each time. */
function waitOf(times: number): number {
  return Math.min(FIRST_WAIT_MS * 2 ** (times - 1), LONGEST_WAIT_MS)
}
