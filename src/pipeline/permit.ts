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

/** S41: whoever is denied learns nothing of the tool: no version, no digest, no date. */
export function denied(state: Received, missing: readonly string[], why: string): StageResult<never> {
  const resolved = state.reports?.findIndex((report) => report.stage === 'resolve') ?? -1
  if (resolved >= 0)
    state.reports?.splice(resolved, 1, { stage: 'resolve', verdict: 'ok', reason: 'ok', details: {} })
  state.warnings.splice(0, state.warnings.length, ...state.call.warnings)
  const ended = refuse(state, 'permission-denied', {
    message: why,
    details: {
      missing,
      policy_ref: { policy_id: 'permissions', policy_version: '1', decision_id: state.call.id },
    },
  })
  if (ended.kind !== 'end') return ended
  const { tool: _, ...result } = ended.result
  return { kind: 'end', result }
}
