// A person says whether an effect happened (S28), or that one was undone by hand (S29).
import type { Caller } from '../contract/caller.ts'
import { type Entry, type EntryOutcome, isInQuestion } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure } from '../contract/projection.ts'
import { hasPermission } from '../governance/held.ts'
import type { Json } from '../util/json.ts'
import { asCompensated } from './closed-record.ts'
import type { Kit } from './kit.ts'
import { settleUnknown } from './settle-unknown.ts'
import { standingOf } from './standing.ts'

export interface Verdict {
  /** `undone`: it could not be undone by a call, and a person has done it. */
  readonly as: 'done' | 'not-done' | 'undone'
  readonly reason: string
  readonly output?: Json
}

const LONGEST_REASON = 1_000

/** Whoever could settle its own calls could have them sent twice: it takes a permission of its own. */
function maySettle(caller: Caller, kit: Kit): boolean {
  return caller.admin || hasPermission(standingOf(caller, kit).held, 'call:settle')
}

/** undefined when it is settled. */
export async function settleByHand(
  entry: Entry,
  verdict: Verdict,
  caller: Caller,
  kit: Kit,
): Promise<Failure | undefined> {
  if (!maySettle(caller, kit)) {
    return createFailure('permission-denied', {
      message: `${caller.actor} lacks call:settle`,
      details: { missing: ['call:settle'] },
    })
  }
  const reason = verdict.reason.trim()
  if (reason === '' || reason.length > LONGEST_REASON) {
    const message = `must be a text of 1 to ${LONGEST_REASON} characters: it goes into evidence`
    return createFailure('input-invalid', { details: { violations: [{ path: '/reason', message }] } })
  }
  if (verdict.as === 'undone') return undoneByHand(entry, reason, caller, kit)
  if (!isInQuestion(entry)) return notInQuestion(entry)
  const moved = await settleUnknown(
    entry,
    {
      as: verdict.as,
      by: 'person',
      ...(verdict.output === undefined ? {} : { output: verdict.output }),
      warning: `settled as ${verdict.as} by ${caller.actor}`,
      facts: { actor: caller.actor, reason },
    },
    kit,
  )
  if (moved.kind === 'moved') return undefined
  // Somebody asks the tool at this moment, or has its answer: what that one made of it is looked at again.
  const now = moved.entry ?? (await kit.ledger.find(entry.scope, entry.key)) ?? entry
  return now.revision !== entry.revision && isInQuestion(now)
    ? settleByHand(now, verdict, caller, kit)
    : notInQuestion(now)
}

/** `compensation-failed` is the end of every call that could undo it: only a person leads on. One write, no send. */
async function undoneByHand(
  entry: Entry,
  reason: string,
  caller: Caller,
  kit: Kit,
): Promise<Failure | undefined> {
  if (entry.state !== 'compensation-failed') return notUndone(entry)
  const at = kit.world.clock.now()
  const { compensation, ...before } = entry.outcome ?? { sideEffects: [], warnings: [] }
  const warnings = [...before.warnings, `settled as undone by ${caller.actor}`]
  const record = await kit.ledger.call(entry.namespace, entry.callId)
  const moved = await kit.ledger.move(entry, {
    path: ['compensating', 'compensated'],
    set: {
      outcome: { ...before, warnings, settledBy: 'person', ...withoutFailure(compensation) },
      settledAt: at,
    },
    calls: record === undefined ? [] : [asCompensated(record)],
    facts: [
      {
        type: 'compensation.completed',
        body: {
          entry_id: entry.id,
          tool: entry.tool,
          operation: entry.operation,
          compensation_call_id: compensation?.callId ?? '',
          tries: compensation?.tries ?? 0,
          settled_by: 'person',
          actor: caller.actor,
          reason,
        },
      },
    ],
  })
  if (moved.kind === 'moved') return undefined
  // Somebody tries once more to undo it, or has said the same.
  const now = moved.entry ?? (await kit.ledger.find(entry.scope, entry.key)) ?? entry
  return now.revision !== entry.revision ? undoneByHand(now, reason, caller, kit) : notUndone(now)
}

/** Which call had tried is still told; that it failed is over. */
function withoutFailure(tried: EntryOutcome['compensation']): Pick<EntryOutcome, 'compensation'> {
  if (tried === undefined) return {}
  const { failure: _, ...compensation } = tried
  return { compensation }
}

function notInQuestion(entry: Entry): Failure {
  const details = { call_id: entry.callId, effect_state: entry.state }
  if (entry.state === 'compensation-failed') {
    return createFailure('not-unknown', {
      message: 'it is known that the effect happened; it could not be undone',
      details,
      fix: 'Once you have undone it by hand, settle it as undone; or try to undo it again: compensate.',
    })
  }
  return createFailure('not-unknown', {
    message: `the call is ${entry.state}: nothing is in question`,
    details,
  })
}

/** Only where undoing was tried and has failed: elsewhere a call can do it, and leaves its own record. */
function notUndone(entry: Entry): Failure {
  const { state } = entry
  const fix =
    state === 'done' || state === 'committed'
      ? 'To undo it, compensate the call; where that fails and you undo it by hand, settle it as undone.'
      : isInQuestion(entry)
        ? 'Say first whether it happened: settle it as done or not-done.'
        : 'Read the call to see how it stands.'
  return createFailure('not-unknown', {
    message: `the call is ${state}: only an effect that could not be undone is settled as undone`,
    details: { call_id: entry.callId, effect_state: state },
    fix,
  })
}
