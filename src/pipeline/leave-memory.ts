// A tool has taken the work on and it may take long: the call leaves memory, and whoever follows the work ends it.
import { isReadOnly } from '../contract/effect.ts'
import type { Entry } from '../contract/entry.ts'
import { createFailure } from '../contract/projection.ts'
import type { Transport } from '../transport/transport.ts'
import type { Classified } from './classify.ts'
import type { Kit } from './kit.ts'
import { resultOfEntry, runningResult } from './result.ts'
import type { Admitted, StageResult } from './stages.ts'

/** What is prepared is waited for: somebody has to commit it, and soon (S26). */
export function mayLeaveMemory({ operation }: Admitted, transport: Transport, kit: Kit): boolean {
  return (
    kit.accepted !== undefined && transport.attach !== undefined && operation.effect.twoPhase === undefined
  )
}

/**
 * The call is open, and its place is given back when the work has ended. Undefined where the handle could not be kept
 * and nothing else is known.
 */
export async function leaveMemory(
  state: Admitted,
  kept: Entry | undefined,
  pollInMs: number,
  kit: Kit,
): Promise<StageResult<never> | undefined> {
  const { held } = state
  if (kept === undefined) {
    // The tool may have reported the end before its answer was here: then that holds, and is told.
    const found = await kit.ledger.find(state.scope, state.key)
    if (found?.outcome?.settledBy !== 'callback') return undefined
    held.detached = true
    held.intended = undefined
    return { kind: 'suspend', result: { ...resultOfEntry(found), replayed: false } }
  }
  const { slot } = held
  held.slot = undefined
  held.intended = undefined
  held.detached = true
  kit.accepted?.follow(kept, pollInMs, slot)
  if (state.abort.reason === 'canceled') kit.accepted?.cancel(kept.id)
  return { kind: 'suspend', result: { ...runningResult(state), entryId: kept.id } }
}

/** The tool is at work, and nobody will be able to ask for it. */
export function handleLost({ operation }: Admitted): Classified {
  const readOnly = isReadOnly(operation.effect)
  return {
    effect: readOnly ? 'none' : 'unknown',
    failure: createFailure('outcome-not-recorded', {
      message: 'the tool has taken the work on, and how to ask for it could not be kept',
      harmless: readOnly,
    }),
    sideEffects: [],
  }
}
