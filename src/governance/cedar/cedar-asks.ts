// Whether Cedar can ask for approval of an operation, by the scopes of its policies: what they ask of the input may come true.
import type { CedarAsks } from '../../resource/approval-cover.ts'
import type { CedarEngine } from './cedar-engine.ts'
import type { CedarPolicy } from './cedar-policy.ts'
import { actionEntity, matchesAction, matchesResource, toolEntity } from './cedar-scope.ts'

export function asksApproval({ decision }: CedarPolicy): boolean {
  return decision === 'require-approval' || decision === 'escalate'
}

/** Of anybody: who calls is not known yet. */
export function createCedarAsks(engine: CedarEngine): CedarAsks {
  return ({ cedar }, tool, operation) =>
    cedar !== undefined &&
    engine
      .read(cedar)
      .policies.some(
        (policy) =>
          asksApproval(policy) &&
          matchesResource(policy.json, toolEntity(tool.name)) &&
          matchesAction(policy.json, actionEntity(operation)),
      )
}
