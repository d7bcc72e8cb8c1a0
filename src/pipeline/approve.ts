// Stage 7: suspend until somebody decides. The suspension is durable, and the key is held by it.
import { createFailure } from '../contract/projection.ts'
import type { Kit } from './kit.ts'
import { blocked } from './recall.ts'
import { failedResult } from './result.ts'
import { type Approved, advance, type Claimed, type StageResult } from './stages.ts'

export function approve(state: Claimed, kit: Kit): StageResult<Approved> {
  // Canceled: nobody has to decide about what is not going to be sent.
  if (state.approvalReasons.length === 0 || state.abort.aborted) {
    return advance(state, { approved: true as const })
  }
  if (state.continued?.state === 'unknown') {
    const message = 'the call that this would send again now needs approval, and its effect is not known'
    return blocked(state, state.continued, message)
  }
  const approvalId = kit.world.id()
  const failure = createFailure('approval-pending', {
    message: `waits for approval: ${state.approvalReasons.join('; ')}`,
    details: { ...(state.call.dryRun ? {} : { approval_id: approvalId }), reasons: state.approvalReasons },
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
