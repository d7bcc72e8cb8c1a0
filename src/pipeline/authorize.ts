// Stage 5: these very arguments. In this order: decide; what was decided explains itself.
import { authorize as decide } from '../governance/authorize.ts'
import { advance, type Granted, type StageResult, type Valid } from './stages.ts'

export function authorize(state: Valid): StageResult<Granted> {
  const decision = decide(state.operation, state.input)
  const reasons = decision.kind === 'require-approval' ? decision.reasons : []
  return advance(state, { approvalReasons: [...(state.undoes?.approvalReasons ?? []), ...reasons] })
}
