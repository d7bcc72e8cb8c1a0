// Reads the Cedar texts of manifests without a server: their syntax and annotations need no tools or roles.
import { createCedarAsks } from '../governance/cedar/cedar-asks.ts'
import { createCedarEngine } from '../governance/cedar/cedar-engine.ts'
import { checkCedarTexts } from '../governance/cedar/check-cedar.ts'
import type { PlanApplyOptions } from '../resource/plan-apply.ts'

/** For `planApply`. The engine is loaded with the first text. */
export function createCedarTextCheck(): Pick<PlanApplyOptions, 'check' | 'asks'> {
  const engine = createCedarEngine()
  return {
    check: (set) =>
      checkCedarTexts(set, engine).map(({ policy, at, ...finding }) => ({
        ...finding,
        kind: 'AgentPolicy',
        name: policy,
        inside: at,
      })),
    asks: createCedarAsks(engine),
  }
}
