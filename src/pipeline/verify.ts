// Stage 10: is the output what the tool promised? A success that breaks its schema is no definite answer (S23).
import type { Decision } from '../contract/decision.ts'
import { isReadOnly } from '../contract/effect.ts'
import { createFailure } from '../contract/projection.ts'
import type { JsonObject } from '../util/json.ts'
import { policyRef } from './authorize.ts'
import { advance, type Executed, type Execution, type StageResult, type Verified } from './stages.ts'

export function verify(state: Executed): StageResult<Verified> {
  const { execution, operation, target } = state
  const shown = operation.effect.twoPhase?.prepare ?? operation.name
  if (execution.failure !== undefined) return advance(state, { verified: true as const })
  const limit = target.tool.limits.outputBytes
  if (execution.bytes !== undefined && execution.bytes > limit) {
    return broken(state, 'output-too-large', { bytes: execution.bytes, limit_bytes: limit })
  }
  const violations = target.outputs.get(shown)?.check(execution.output ?? null) ?? []
  if (violations.length === 0) {
    return isWithheld(state.decision) ? withheld(state) : advance(state, { verified: true as const })
  }
  return broken(state, 'output-invalid', {
    violations: violations.map(({ path, message }) => ({ path, message })),
  })
}

/** What the tool returns is not for this caller; its effect was (S41). Nobody is shown it, and it is not kept. */
export function isWithheld(decision: Decision): boolean {
  return decision.matches.some(({ code }) => code === 'output-withheld')
}

function withheld(state: Executed): StageResult<Verified> {
  const { output: _, ...rest } = state.execution
  const [match] = state.decision.matches.filter(({ code }) => code === 'output-withheld')
  const failure = createFailure('output-withheld', {
    ...(match === undefined ? {} : { message: match.reason }),
    details: { code: 'output-withheld', policy_ref: policyRef(state.decision, state.decisionId) },
  })
  return advance(state, { execution: { ...rest, failure }, verified: true as const })
}

function broken(
  state: Executed,
  id: 'output-invalid' | 'output-too-large',
  details: JsonObject,
): StageResult<Verified> {
  const { output: _, ...rest } = state.execution
  const readOnly = isReadOnly(state.operation.effect)
  // What was only prepared can still be taken back, and is (S26).
  const undone = rest.effect === 'prepared' ? 'not-done' : 'unknown'
  const execution: Execution = {
    ...rest,
    effect: readOnly ? 'none' : undone,
    failure: createFailure(id, { harmless: readOnly, details }),
  }
  return advance(state, { execution, verified: true as const })
}
