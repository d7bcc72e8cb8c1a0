// Stage 7: has somebody to agree? A call goes on with what people agreed to, with a grant of theirs, or waits (S45).
import type { Approval } from '../contract/approval.ts'
import { asksPeople } from '../contract/decision.ts'
import { createFailure } from '../contract/projection.ts'
import { changedSince, coversNeeds } from '../governance/approval-rule.ts'
import { bindingNow, questionOf } from './approval-question.ts'
import { policyRef, reasonsOf } from './authorize.ts'
import { endWaiting } from './end-waiting.ts'
import { findGrant } from './find-grant.ts'
import type { Kit } from './kit.ts'
import { approvalOf, blocked } from './recall.ts'
import { failedResult, runningResult } from './result.ts'
import { type Approved, advance, type Claimed, type StageResult } from './stages.ts'

type Result = StageResult<Approved>

export function approve(state: Claimed, kit: Kit): Result | Promise<Result> {
  const { agreed, continued } = state
  if (agreed !== undefined && continued?.state === 'awaiting-approval') return goOn(state, agreed, kit)
  // Canceled: nobody has to decide about what is not going to be sent.
  if (!asksPeople(state.decision) || state.abort.aborted) return advance(state, { approved: true as const })
  return continued?.state === 'unknown' ? repeat(state, continued, kit) : byGrantOrPeople(state, kit)
}

/** People have agreed while it waited. Where nobody would have to any more, what they gave is used up all the same. */
async function goOn(state: Claimed, approval: Approval, kit: Kit): Promise<Result> {
  const open: Result = { kind: 'end', result: { ...runningResult(state), entryId: state.entry.id } }
  // Whoever goes on after this process finds it as it is.
  if (state.abort.reason === 'shutdown') return open
  const details = { approval_id: approval.id }
  if (approval.expiresAt <= kit.steadyNow()) {
    const failure = createFailure('approval-expired', {
      message: 'it was approved, and its time was over before it could be sent',
      details,
    })
    return over(state, approval, { state: 'expired', failure }, kit)
  }
  const changed = changedFor(state, approval)
  if (changed.length === 0) return advance(state, { approval, approved: true as const })
  const failure = createFailure('approval-stale', {
    message: `what was approved is not what would run now: another ${changed.join(', another ')}`,
    details: { ...details, changed },
  })
  return over(state, approval, { state: 'stale', failure }, kit)
}

/**
 * The same rules may ask for more by now: they read the time, and what other calls have spent meanwhile. Others that ask
 * for nothing any more let it go on; as another call than people were shown it is still not sent.
 */
function changedFor(state: Claimed, { binding, needs }: Approval): readonly string[] {
  const changed = changedSince(binding, bindingNow(state))
  if (!asksPeople(state.decision)) return changed.filter((what) => what !== 'policy')
  return coversNeeds(needs, state.decision.needs) ? changed : [...changed, 'set of approvers']
}

async function over(
  state: Claimed,
  approval: Approval,
  end: Parameters<typeof endWaiting>[2],
  kit: Kit,
): Promise<Result> {
  const { continued = state.entry } = state
  await endWaiting(continued, approval, end, kit)
  const result = failedResult(state, end.failure, state.entry.readOnly ? 'none' : 'not-done')
  return { kind: 'end', result: { ...result, entryId: state.entry.id } }
}

/** What may have had its effect is sent again only where people have agreed to this very thing: it is the same one. */
async function repeat(
  state: Claimed,
  continued: NonNullable<Claimed['continued']>,
  kit: Kit,
): Promise<Result> {
  const used = await approvalOf(continued, kit)
  if (used?.state === 'used' && changedFor(state, used).length === 0) {
    return advance(state, { approved: true as const })
  }
  const message = 'the call that this would send again now needs approval, and its effect is not known'
  return blocked(state, continued, message)
}

async function byGrantOrPeople(state: Claimed, kit: Kit): Promise<Result> {
  const grant = await findGrant(state, kit)
  if (grant !== undefined) return advance(state, { grant, approved: true as const })
  const { decision, decisionId, call, target } = state
  const reasons = reasonsOf(decision)
  const question = questionOf(state, kit)
  Object.assign(state, { question })
  const failure = createFailure(decision.kind === 'escalate' ? 'escalated' : 'approval-pending', {
    message: `waits for approval: ${reasons.join('; ')}`,
    details: {
      // A dry run asks nobody (S17).
      ...(call.dryRun ? {} : { approval_id: question.id }),
      reasons,
      needs: decision.needs.map((need) => ({ ...need })),
      expires_at: new Date(question.expiresAt).toISOString(),
      policy_ref: policyRef(decision, decisionId),
    },
  })
  const { version, digest } = target.tool
  return {
    kind: 'suspend',
    result: {
      ...failedResult(state, failure, 'pending'),
      entryId: state.entry.id,
      tool: { version, digest },
    },
  }
}
