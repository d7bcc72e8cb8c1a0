// Stage 7: suspend until somebody decides. The suspension is durable, and the key is held by it.
import { createFailure } from '../contract/projection.ts'
import type { Kit } from './kit.ts'
import { failedResult } from './result.ts'
import { type Approved, advance, type Claimed, type StageResult } from './stages.ts'

export function approve(state: Claimed, kit: Kit): StageResult<Approved> {
  if (state.approvalReasons.length === 0) return advance(state, { approved: true as const })
  const approvalId = kit.world.id()
  const failure = createFailure('approval-pending', {
    message: `waits for approval: ${state.approvalReasons.join('; ')}`,
    details: { approval_id: approvalId, reasons: state.approvalReasons },
  })
  const { version, digest } = state.target.tool
  return {
    kind: 'suspend',
    result: {
      ...failedResult(state, failure, 'pending'),
      entryId: state.entry.id,
      tool: { version, digest },
    },
  }
}
