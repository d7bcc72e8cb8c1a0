// Approvals, for one caller: those it may see, and what it decides about them (S45).
import type { Approval } from './contract/approval.ts'
import { type Caller, kindOf } from './contract/caller.ts'
import { inlineOf } from './contract/entry.ts'
import type { Failure } from './contract/failure.ts'
import { createFailure } from './contract/projection.ts'
import { PolicyUnavailable } from './governance/authority.ts'
import { covers } from './governance/covers.ts'
import { hasPermission } from './governance/held.ts'
import { createGrantDoor } from './grant-door.ts'
import {
  closed,
  type Decided,
  type DecideKit,
  decideApproval,
  delegateApproval,
  frozenCaller,
} from './pipeline/decide-approval.ts'
import { standingOf } from './pipeline/standing.ts'
import type { ApprovalDecider, ApprovalDoor, ApprovalResult, ApprovalView } from './runtime-api.ts'
import { isKeepable } from './store/entry-rule.ts'
import { onlyUnavailable } from './store/unavailable.ts'
import { diffJson } from './util/json-diff.ts'

const PAGE = 200
/** Approvals that are looked through for one page of a caller who may see only some of them. */
const MOST_LOOKED_AT = 5_000
const MOST_TEXT = 4_000
const MOST_NAME = 256

export function createApprovalDoor(caller: Caller, kit: DecideKit): ApprovalDoor {
  const { store } = kit
  const { namespace, actor } = caller

  /** Whoever may read all, whoever a need is for, whoever was asked to stand in; and whoever asked. */
  function viewer(): (approval: Approval) => boolean {
    const { held } = standingOf(caller, kit)
    if (['approval:read', 'approval:decide'].some((one) => hasPermission(held, one))) return () => true
    const { scopes } = caller
    const narrowed = scopes?.some((one) => covers(one, 'approval:read') || covers(one, 'approval:decide'))
    const byRole = held.missingRoles.length === 0 && narrowed !== false
    return ({ requester, needs, delegations }) =>
      requester === actor ||
      (byRole &&
        (needs.some(({ role }) => role !== undefined && caller.roles.includes(role)) ||
          delegations.some(({ to }) => to === actor)))
  }

  async function find(id: string): Promise<Approval | undefined> {
    const approval = isKeepable(id) ? await store.approvals.get(namespace, id) : undefined
    return approval !== undefined && viewer()(approval) ? approval : undefined
  }

  async function view(approval: Approval): Promise<ApprovalView> {
    const before = approval.readOnly ? undefined : await lastAgreed(approval)
    if (before === undefined || approval.shown === undefined) return approval
    const { id, callId, createdAt, shown } = before
    const changes = diffJson(inlineOf(shown), inlineOf(approval.shown))
    return { ...approval, diff: { approvalId: id, callId, at: createdAt, changes } }
  }

  /** The last call of this requester, to the same operation, that people agreed to. */
  async function lastAgreed({ id, requester, binding }: Approval): Promise<Approval | undefined> {
    const { tool, operation } = binding
    const used = await store.approvals.list({
      namespace,
      states: ['used'],
      requester,
      tool,
      before: id,
      limit: PAGE,
    })
    return used.find((one) => one.binding.operation === operation && one.shown !== undefined)
  }

  async function act(id: string, run: () => Promise<Decided>): Promise<ApprovalResult> {
    try {
      // Whoever may not see it does not learn that it exists.
      if ((await find(id)) === undefined) return { kind: 'not-found' }
      const end = await run()
      return end.kind === 'decided' ? { kind: 'ok', approval: await view(end.approval) } : end
    } catch (error) {
      if (error instanceof PolicyUnavailable)
        return refused(createFailure('policy-unavailable', { message: error.message }))
      onlyUnavailable(error)
      return refused(createFailure('intent-not-recorded'))
    }
  }

  return {
    ...createGrantDoor(caller, kit),

    async listApprovals({ limit, before, ...filter }) {
      const maySee = viewer()
      const found: Approval[] = []
      let last = before
      for (let looked = 0; looked < MOST_LOOKED_AT; looked += PAGE) {
        const page = await store.approvals.list({
          ...filter,
          namespace,
          limit: PAGE,
          ...(last === undefined ? {} : { before: last }),
        })
        found.push(...page.filter(maySee))
        last = page.at(-1)?.id
        if (found.length >= limit || page.length < PAGE) break
      }
      return found.slice(0, limit)
    },

    async getApproval(id) {
      const approval = await find(id)
      return approval && view(approval)
    },

    async approve(id, { comment = '' } = {}) {
      const bad = badText('comment', comment)
      return bad ?? act(id, () => decideApproval(id, caller, { decision: 'approved', comment }, kit))
    },

    async deny(id, { reason }) {
      const bad = reason.trim() === '' ? invalid('reason', 'must say why') : badText('reason', reason)
      return bad ?? act(id, () => decideApproval(id, caller, { decision: 'denied', comment: reason }, kit))
    },

    async delegate(id, { to }) {
      const bad = to.trim() === '' || to.length > MOST_NAME || /\p{Cc}/u.test(to) || !isKeepable(to)
      if (bad) return invalid('to', `must name an actor with at most ${MOST_NAME} characters`)
      return act(id, () => delegateApproval(id, caller, to, kit))
    },

    async overrideDenial(id, { reason }) {
      const bad = reason.trim() === '' ? invalid('reason', 'must say why') : badText('reason', reason)
      return bad ?? act(id, () => override(id, reason))
    },
  }

  /** A new record that is linked to the one it overrides, which stays; the key is free, and people are asked anew. */
  async function override(id: string, reason: string): Promise<Decided> {
    const { held } = standingOf(caller, kit)
    const frozen = frozenCaller(caller, kit)
    if (frozen !== undefined) return refused(frozen)
    for (;;) {
      const approval = await find(id)
      if (approval === undefined) return { kind: 'not-found' }
      const own = approval.requester === actor || approval.agent === actor
      if (own)
        return refused(createFailure('approval-self', { details: { code: 'approval-self', missing: [] } }))
      if (kindOf(caller) === 'agent' || !hasPermission(held, OVERRIDE)) return refused(lacks(actor, OVERRIDE))
      const entry = await store.entries.get(namespace, approval.entryId)
      const { failure } = entry?.outcome ?? {}
      if (approval.state !== 'denied' || entry?.approvalId !== id || failure?.id !== 'approval-denied')
        return closed(approval)
      const decisionId = kit.world.id()
      const stale = createFailure('approval-stale', {
        message: `the denial was overridden: ${reason}`,
        details: { approval_id: id, decision_id: decisionId },
      })
      const body = {
        decision_id: decisionId,
        overrides: id,
        entry_id: entry.id,
        actor: approval.requester,
        tool: entry.tool,
        operation: entry.operation,
        decided_by: actor,
        reason,
      }
      const moved = await kit.ledger.move(entry, {
        path: [],
        set: { outcome: { sideEffects: [], warnings: [], ...entry.outcome, failure: stale } },
        facts: [{ type: 'decision.overridden', body }],
      })
      if (moved.kind === 'moved') return { kind: 'decided', approval }
    }
  }
}

const OVERRIDE = 'approval:override'

/** For signed links: who decides is in the link, and was authenticated by it. */
export function createApprovalDecider(kit: DecideKit): ApprovalDecider {
  return {
    find: (namespace, id) => kit.store.approvals.get(namespace, id),
    async decide(namespace, id, { approver, decision, comment, linkId }) {
      const choice = { decision, linkId, ...(comment === undefined ? {} : { comment }) }
      try {
        return await decideApproval(id, { ...approver, namespace }, choice, kit)
      } catch (error) {
        onlyUnavailable(error)
        return refused(createFailure('intent-not-recorded'))
      }
    },
  }
}

type Refused = { readonly kind: 'refused'; readonly failure: Failure }

function refused(failure: Failure): Refused {
  return { kind: 'refused', failure }
}

function lacks(actor: string, permission: string): Failure {
  return createFailure('permission-denied', {
    message: `${actor} lacks ${permission}`,
    details: { code: 'permission-missing', missing: [permission] },
  })
}

function badText(field: string, text: string): Refused | undefined {
  if (text.length <= MOST_TEXT && isKeepable(text)) return undefined
  return invalid(field, `must have at most ${MOST_TEXT} characters, all of them printable`)
}

function invalid(field: string, message: string): Refused {
  return refused(
    createFailure('envelope-invalid', {
      message: `${field}: ${message}`,
      details: { violations: [{ path: `/${field}`, message }] },
    }),
  )
}
