// Stage 3: may this caller invoke this tool at all.
import { permit as decide } from '../governance/permit.ts'
import { refuse } from './result.ts'
import { advance, type Permitted, type Received, type Resolved, type StageResult } from './stages.ts'

export function permit(state: Resolved): StageResult<Permitted> {
  const { call, caller } = state
  if (call.namespace !== undefined && call.namespace !== caller.namespace) {
    return denied(
      state,
      [],
      `${caller.actor} belongs to namespace '${caller.namespace}', not '${call.namespace}'`,
    )
  }
  const permission = decide(caller, state.target.tool)
  if (permission.kind === 'denied') return denied(state, permission.missing, permission.why)
  return advance(state, { permitted: true as const })
}

export function denied(state: Received, missing: readonly string[], why: string): StageResult<never> {
  return refuse(state, 'permission-denied', {
    message: why,
    details: {
      missing,
      policy_ref: { policy_id: 'permissions', policy_version: '1', decision_id: state.call.id },
    },
  })
}
