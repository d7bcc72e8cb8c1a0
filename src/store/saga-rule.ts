// What every engine asks about a saga before it writes one: pure, so that all give the same answer (S29).
import { SAGA_STATES, SAGA_TRANSITIONS, type Saga, type SagaState } from '../contract/saga.ts'
import type { SagaWrite } from './store.ts'

type SagaUpdate = Extract<SagaWrite, { kind: 'update' }>

/** Why a saga in this state must not be changed so; undefined when it may. To stay is no move either. */
export function sagaMoveProblem(
  found: Pick<Saga, 'state'>,
  update: Pick<SagaUpdate, 'id' | 'state'>,
): string | undefined {
  if (SAGA_TRANSITIONS[found.state].includes(update.state)) return undefined
  return `saga ${update.id} is ${found.state} and may not become ${update.state}`
}

/** Nothing leads on from these: when they are old enough, they are forgotten (S18). */
export const ENDED_SAGA_STATES: readonly SagaState[] = SAGA_STATES.filter(
  (state) => SAGA_TRANSITIONS[state].length === 0,
)

/** Without a reason of its own a state keeps the one before; an open saga has none. */
export function nextReason(
  found: Pick<Saga, 'reason'>,
  update: Pick<SagaUpdate, 'state' | 'reason'>,
): string {
  return update.reason ?? (update.state === 'open' ? '' : found.reason)
}
