// A call that is a member of a saga: whether it may join, and what its saga has to hear of its end (S29).
//
// Reading is only for the clear answer; what holds is `openSaga` in the transaction of the intent. What a member came to
// is looked at by the saga's driver: a timer in the write of the outcome asks for that, so that neither is lost alone.
import type { Caller } from '../contract/caller.ts'
import type { Entry } from '../contract/entry.ts'
import type { Saga } from '../contract/saga.ts'
import type { SagaStore, TimerChange } from '../store/store.ts'
import { type Ended, refuse } from './result.ts'
import { isMemberInQuestion } from './saga-state.ts'
import type { CallResult, Recalled, Received } from './stages.ts'

/**
 * Asked at claim: undefined when the call is in no saga, may join the one it names, or goes on with a member of it of
 * which nobody knows what became. A dry run is told as well.
 */
export async function checkSaga(state: Recalled, sagas: Pick<SagaStore, 'get'>): Promise<Ended | undefined> {
  const { saga: id } = state.call
  if (id === undefined) return undefined
  const { continued } = state
  if (continued?.state === 'unknown' && continued.saga === id) return undefined
  const saga = await sagas.get(state.caller.namespace, id)
  return saga !== undefined && isOwn(saga, state.caller) && saga.state === 'open'
    ? undefined
    : sagaClosed(state, saga)
}

/** Another caller's saga is not told apart from one that does not exist. */
export function sagaClosed(state: Received, saga?: Saga): Ended {
  const id = state.call.saga ?? ''
  const own = saga !== undefined && isOwn(saga, state.caller) ? saga : undefined
  return refuse(state, 'saga-closed', {
    ...(own === undefined ? {} : { message: `saga '${id}' is ${own.state}: no call can join it` }),
    details: { saga: id, ...(own === undefined ? {} : { saga_state: own.state }) },
  })
}

export function isOwn(saga: Saga, caller: Pick<Caller, 'namespace' | 'actor'>): boolean {
  return saga.namespace === caller.namespace && saga.caller.actor === caller.actor
}

/**
 * To be written with the outcome of an entry, which is given as it was before. A success at once, a cancel by the caller
 * and everything about reads leaves the saga as it is: a read has nothing to undo, and can be asked again.
 */
export function memberSettled(entry: Entry, result: CallResult): readonly TimerChange[] {
  const { saga } = entry
  if (saga === undefined || entry.readOnly || result.state === 'canceled') return []
  if (result.failure === undefined && !mayHaveStoppedIt(entry)) return []
  return [{ kind: 'saga', subject: entry.id, inMs: 0, data: { saga, call_id: entry.callId } }]
}

/** An earlier attempt may have been why no call can join any more. */
function mayHaveStoppedIt(entry: Entry): boolean {
  const goesOn = entry.attempts > 0 && (entry.state === 'intended' || entry.state === 'sent')
  return goesOn || isMemberInQuestion(entry)
}

/** To be written with the record of a call that governance denied: it has no entry, and stops its saga all the same. */
export function memberDenied(state: Received, result: CallResult): readonly TimerChange[] {
  const { call, caller } = state
  if (call.saga === undefined || call.dryRun || result.state !== 'denied' || result.replayed) return []
  const data = {
    saga: call.saga,
    call_id: call.id,
    denied: result.failure?.id ?? 'permission-denied',
    actor: caller.actor,
  }
  return [{ kind: 'saga', subject: call.id, inMs: 0, data }]
}
