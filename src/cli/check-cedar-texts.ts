// Reads the Cedar texts of manifests without a server: their syntax and annotations need no tools or roles.
import { createCedarEngine } from '../governance/cedar/cedar-engine.ts'
import { checkCedarTexts } from '../governance/cedar/check-cedar.ts'
import type { CheckSet } from '../resource/check-set.ts'

/** For `planApply`. The engine is loaded with the first text. */
export function createCedarTextCheck(): CheckSet {
  const engine = createCedarEngine()
  return (set) =>
    checkCedarTexts(set, engine).map(({ policy, at, ...finding }) => ({
      ...finding,
      kind: 'AgentPolicy',
      name: policy,
      inside: at,
    }))
}
