// A prepared effect is given up (S26): by its caller, or because nobody committed it in time.
//
// `prepared > rolling-back` is on disk, with a timer, before anything is sent; from then on it cannot be committed. The
// rollback is sent until the tool acknowledges it, for ever if need be: sending it again does no harm.
import type { Caller } from '../contract/caller.ts'
import type { Entry, EntryOutcome } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure } from '../contract/projection.ts'
import type { MoveResult } from '../ledger/ledger.ts'
import type { TimerChange } from '../store/store.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import type { AttemptOutcome } from './attempt.ts'
import { runErrand } from './errand.ts'
import type { Kit } from './kit.ts'
import { expired, isOwn, notOwn, stillUnknown, wasPrepared } from './two-phase-check.ts'
import { NO_OUTCOME, phaseFact, pinnedPhases, told } from './two-phase-entry.ts'

const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 300_000
/** Somebody else goes on after this time when the process that began it has died. */
const BACKUP_MS = 10_000

/** undefined when it is given up: what the tool has not acknowledged yet, it is told again. */
export async function rollbackEntry(entry: Entry, caller: Caller, kit: Kit): Promise<Failure | undefined> {
  if (!isOwn(entry, caller) && !(caller.admin && caller.namespace === entry.namespace))
    return notOwn(entry, 'give up')
  const details = { call_id: entry.callId, effect_state: entry.state }
  if (!wasPrepared(entry)) {
    const message = `nothing is prepared: the call is ${entry.state}`
    return createFailure('commit-token-invalid', { message, details, fix: 'Nothing is left to do.' })
  }
  switch (entry.state) {
    case 'rolling-back':
    case 'rolled-back':
      return undefined
    case 'prepared':
      break
    case 'commit-unknown':
      return stillUnknown(entry)
    case 'committed':
      return createFailure('commit-repeated', {
        message: 'it is committed, and can no longer be given up',
        details,
        fix: 'To undo it, compensate the call.',
      })
    default:
      return createFailure('commit-repeated', { details })
  }
  let begun: MoveResult
  try {
    begun = await beginRollback(entry, 'rolled-back', BACKUP_MS, kit)
  } catch (error) {
    onlyUnavailable(error)
    return createFailure('intent-not-recorded')
  }
  if (begun.kind === 'conflict') {
    const now = begun.entry ?? (await kit.ledger.find(entry.scope, entry.key))
    if (now === undefined || now.revision === entry.revision)
      throw new Error(`entry ${entry.id} is gone, or refuses a change of its own revision`)
    return rollbackEntry(now, caller, kit)
  }
  if (await pushRollback(begun.entry, kit)) return undefined
  // The timer was set for the case that this process dies: now it is known when to tell the tool again.
  await kit.ledger.move(begun.entry, { path: [], timers: [rollbackTimer(entry.id, 1)] })
  return undefined
}

/** Durable: from now on it can only be rolled back. */
export async function beginRollback(
  entry: Entry,
  why: 'rolled-back' | 'commit-expired',
  inMs: number,
  kit: Kit,
): Promise<MoveResult> {
  const facts = why === 'commit-expired' ? expired(entry) : { details: { call_id: entry.callId } }
  // What was shown of it will not be there: only what is needed to take it back is kept.
  const { output: _, ...before } = entry.outcome ?? NO_OUTCOME
  const outcome: EntryOutcome = { ...before, failure: createFailure(why, facts) }
  return kit.ledger.move(entry, {
    path: ['rolling-back'],
    set: { outcome },
    facts: [phaseFact('rollback.started', entry, { why })],
    timers: [
      { kind: 'commit-deadline', subject: entry.id },
      { kind: 'rollback', subject: entry.id, inMs, data: { tries: 0 } },
    ],
  })
}

/** Tells the tool once. True when nothing is left to do for this entry. */
export async function pushRollback(entry: Entry, kit: Kit): Promise<boolean> {
  const pinned = pinnedPhases(entry, kit)
  if (pinned === undefined) return false
  const { target, phases } = pinned
  const { toolToken, ...kept } = entry.outcome ?? NO_OUTCOME
  const outcome = await runErrand(
    {
      entry,
      target,
      operation: phases.rollback,
      ...(toolToken === undefined ? {} : { toolToken }),
    },
    kit,
  )
  if (!isAcknowledged(outcome, phases.rolledBackOn)) return false
  const known = await kit.ledger.call(entry.namespace, entry.callId)
  const also = told(entry, 'rolled-back', kept, known, kit)
  const moved = await kit.ledger.move(entry, {
    path: ['rolled-back'],
    set: { outcome: kept, settledAt: kit.world.clock.now() },
    calls: also.calls,
    facts: [phaseFact('rollback.completed', entry)],
    timers: [...also.timers, { kind: 'rollback', subject: entry.id }],
  })
  // Where it changed meanwhile, another process has heard the same.
  return moved.kind === 'moved' || moved.entry?.state === 'rolled-back'
}

export function rollbackTimer(entryId: string, tries: number): TimerChange & { readonly inMs: number } {
  const inMs = Math.min(FIRST_WAIT_MS * 2 ** Math.min(tries - 1, 20), LONGEST_WAIT_MS)
  return { kind: 'rollback', subject: entryId, inMs, data: { tries } }
}

function isAcknowledged({ reply }: AttemptOutcome, rolledBackOn: readonly number[]): boolean {
  if (reply?.kind === 'success') return true
  const { http_status: status, body: flaw } = reply?.details ?? {}
  // An answer that was cut off is none, whatever its first line says (S23).
  return flaw === undefined && typeof status === 'number' && rolledBackOn.includes(status)
}
