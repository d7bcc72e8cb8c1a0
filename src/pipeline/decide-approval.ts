// Somebody decides about a call that waits. Two at once both count, or one is told that it is over (S45).
import type { Approval, ApprovalDecision, Delegation } from '../contract/approval.ts'
import type { ApprovalEvent } from '../contract/approval-event.ts'
import { type Caller, kindOf } from '../contract/caller.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure } from '../contract/projection.ts'
import { type MayDecide, mayDecide, mayDelegate, tally } from '../governance/approval-rule.ts'
import { PolicyUnavailable } from '../governance/authority.ts'
import type { Fact } from '../ledger/ledger.ts'
import type { Store, TimerChange } from '../store/store.ts'
import type { JsonObject } from '../util/json.ts'
import { emitDecided, endWaiting } from './end-waiting.ts'
import type { Kit } from './kit.ts'
import { standingOf } from './standing.ts'

export interface DecideKit extends Kit {
  readonly store: Store
}

export interface Choice {
  readonly decision: 'approved' | 'denied'
  readonly comment?: string
  /** The link that it was decided with: each decides once. */
  readonly linkId?: string
}

export type Decided =
  | { readonly kind: 'decided'; readonly approval: Approval }
  | { readonly kind: 'refused'; readonly failure: Failure }
  | { readonly kind: 'not-found' }

/** `by` is the authenticated identity: nothing of what a request says about who decides is looked at. */
export function decideApproval(id: string, by: Caller, choice: Choice, kit: DecideKit): Promise<Decided> {
  return retried(id, by, kit, async (approval) => {
    const { linkId } = choice
    if (linkId !== undefined && approval.usedLinks.includes(linkId)) return closed(approval)
    const standing = standingOf(by, kit)
    const may = mayDecide(approval, { ...by, ...standing.held })
    if (!may.ok) return refusedBy(may)
    const next = withDecision(approval, decisionOf(by, may, choice, kit), linkId)
    const state = tally(next)
    if (state === 'denied') return deny(approval, next, kit)
    return write(
      { ...next, state },
      state === 'approved' ? 'approval.approved' : 'approval.voted',
      [{ type: 'approval.decided', body: decidedBody({ ...next, state }) }],
      // Whichever process looks first goes on with the call.
      state === 'approved' ? [{ kind: 'approval', subject: next.entryId, inMs: 0, data: {} }] : [],
      kit,
    )
  })
}

export function delegateApproval(id: string, by: Caller, to: string, kit: DecideKit): Promise<Decided> {
  return retried(id, by, kit, async (approval) => {
    const standing = standingOf(by, kit)
    const may = mayDelegate(approval, { ...by, ...standing.held }, to)
    if (!may.ok) return refusedBy(may)
    const known = approval.delegations.find((one) => one.from === by.actor && one.to === to)
    if (known !== undefined) return { kind: 'decided', approval }
    const delegation: Delegation = {
      from: by.actor,
      roles: may.roles,
      ...(may.decides === undefined ? {} : { decides: may.decides }),
      to,
      at: kit.world.clock.now(),
    }
    const next: Approval = {
      ...approval,
      revision: approval.revision + 1,
      delegations: [...approval.delegations, delegation],
    }
    const body = { ...aboutOf(next), from: by.actor, roles: may.roles, to }
    return write(next, 'approval.delegated', [{ type: 'approval.delegated', body }], [], kit)
  })
}

/** Again where somebody else was faster: each time round, the question has moved on. */
async function retried(
  id: string,
  by: Caller,
  kit: DecideKit,
  act: (approval: Approval) => Promise<Decided | 'again'>,
): Promise<Decided> {
  for (;;) {
    const approval = await kit.store.approvals.get(by.namespace, id)
    if (approval === undefined) return { kind: 'not-found' }
    if (approval.state !== 'pending') return closed(approval)
    if (approval.expiresAt <= kit.steadyNow()) return expired(approval)
    const stopped = frozenCaller(by, kit)
    if (stopped !== undefined) return { kind: 'refused', failure: stopped }
    try {
      const end = await act(approval)
      if (end !== 'again') return end
    } catch (error) {
      if (!(error instanceof PolicyUnavailable)) throw error
      return { kind: 'refused', failure: createFailure('policy-unavailable', { message: error.message }) }
    }
  }
}

async function write(
  next: Approval,
  event: ApprovalEvent,
  facts: readonly Fact[],
  timers: readonly TimerChange[],
  kit: DecideKit,
): Promise<Decided | 'again'> {
  const { namespace, callId } = next
  const at = kit.world.clock.now()
  const written = await kit.store.ledger.settle({
    namespace,
    approval: { kind: 'update', approval: next },
    evidence: facts.map(({ type, body }) => ({ namespace, callId, type, at, body })),
    timers: [...timers, ...kit.notify(next, event)],
  })
  if (written.kind === 'conflict') return 'again'
  if (next.state !== 'pending') emitDecided(next, kit)
  return { kind: 'decided', approval: next }
}

/** S16: what was refused is stored, and replayed to whoever asks again with its key. */
async function deny(approval: Approval, next: Approval, kit: DecideKit): Promise<Decided | 'again'> {
  const entry = await kit.store.entries.get(approval.namespace, approval.entryId)
  if (entry?.state !== 'awaiting-approval' || entry.approvalId !== approval.id) {
    // It ended with its call a moment ago; or that one is gone, and nothing waits for an answer.
    const now = await kit.store.approvals.get(approval.namespace, approval.id)
    return now?.revision === approval.revision ? closed({ ...approval, state: 'stale' }) : 'again'
  }
  const last = next.decisions.at(-1)
  const failure = createFailure('approval-denied', {
    message: last?.comment === undefined ? 'the approval was refused' : `refused: ${last.comment}`,
    details: {
      approval_id: approval.id,
      decided_by: last?.by ?? '',
      ...(last?.comment === undefined ? {} : { reason: last.comment }),
    },
  })
  const { decisions, usedLinks } = next
  const body = decidedBody({ ...next, state: 'denied' })
  const end = { state: 'denied', failure, change: { decisions, usedLinks }, body } as const
  const moved = await endWaiting(entry, approval, end, kit)
  if (moved.kind === 'conflict') return 'again'
  const now = await kit.store.approvals.get(approval.namespace, approval.id)
  return { kind: 'decided', approval: now ?? { ...next, state: 'denied' } }
}

function decisionOf(
  by: Caller,
  { roles, decides, onBehalfOf }: Extract<MayDecide, { readonly ok: true }>,
  { decision, comment, linkId }: Choice,
  kit: Kit,
): ApprovalDecision {
  return {
    by: by.actor,
    kind: kindOf(by),
    roles,
    ...(decides === undefined ? {} : { decides }),
    decision,
    at: kit.world.clock.now(),
    ...(comment === undefined || comment === '' ? {} : { comment }),
    ...(onBehalfOf === undefined ? {} : { onBehalfOf }),
    via: linkId === undefined ? 'api' : 'link',
  }
}

function withDecision(approval: Approval, decision: ApprovalDecision, linkId: string | undefined): Approval {
  return {
    ...approval,
    revision: approval.revision + 1,
    decisions: [...approval.decisions, decision],
    usedLinks: linkId === undefined ? approval.usedLinks : [...approval.usedLinks, linkId],
  }
}

function aboutOf({ id, entryId, requester, binding }: Approval): JsonObject {
  const { tool, version, digest, operation, payloadHash, policyVersion, limits } = binding
  return {
    entry_id: entryId,
    approval_id: id,
    actor: requester,
    tool,
    version,
    digest,
    operation,
    payload_hash: payloadHash,
    policy_version: policyVersion,
    limits: { timeout_ms: limits.timeoutMs, max_attempts: limits.maxAttempts },
  }
}

/** Who decided what by which right, and whether that was enough. */
function decidedBody(approval: Approval): JsonObject {
  const last = approval.decisions.at(-1)
  return {
    ...aboutOf(approval),
    decision: last?.decision ?? '',
    decided_by: last?.by ?? '',
    decider_kind: last?.kind ?? '',
    roles: last?.roles ?? [],
    via: last?.via ?? '',
    ...(last?.onBehalfOf === undefined ? {} : { on_behalf_of: last.onBehalfOf }),
    ...(last?.comment === undefined ? {} : { comment: last.comment }),
    state: approval.state,
  }
}

function refusedBy({ failure, code, why }: Extract<MayDecide, { readonly ok: false }>): Decided {
  const details = { code, missing: [] }
  return { kind: 'refused', failure: createFailure(failure, { message: why, details }) }
}

export function closed({ id, state, callId, why }: Approval): Decided {
  const failure = createFailure('approval-closed', {
    message: `approval ${id} is ${state}${why === undefined ? '' : `: ${why}`}`,
    details: { approval_id: id, approval_state: state, call_id: callId },
  })
  return { kind: 'refused', failure }
}

function expired({ id, callId, expiresAt }: Approval): Decided {
  const until = new Date(expiresAt).toISOString()
  const failure = createFailure('approval-expired', {
    message: `approval ${id} could be decided until ${until}`,
    details: { approval_id: id, call_id: callId, expires_at: until },
  })
  return { kind: 'refused', failure }
}

/** Whoever is frozen gives nobody anything. Where a tool or a namespace is, people may still decide. */
export function frozenCaller(by: Caller, kit: Kit): Failure | undefined {
  const { reason } = kit.authority.frozen(by) ?? {}
  if (reason === undefined) return undefined
  return createFailure('frozen', {
    message: `${by.actor} is frozen: ${reason}`,
    details: { code: 'frozen', reason },
  })
}
