// Approvals, the pure part: what one is bound to, who may decide it, and what the decisions so far come to (S45).
import type { Approval, ApprovalBinding, Delegation } from '../contract/approval.ts'
import { type Caller, kindOf } from '../contract/caller.ts'
import type { ApprovalNeed } from '../contract/decision.ts'
import type { ResolvedOperation, ResolvedTool } from '../resource/resolved-tool.ts'
import { covers } from './covers.ts'
import { hasPermission } from './held.ts'
import type { ReasonCode } from './reason-code.ts'
import type { Held } from './rules.ts'

export type Decider = Caller & Held

export type MayDecide =
  | {
      readonly ok: true
      /** Roles of the needs that the decision counts for; empty where it counts by permission. */
      readonly roles: readonly string[]
      /** It counts for needs without a role. */
      readonly decides?: true
      /** Who had handed the decision over. */
      readonly onBehalfOf?: string
    }
  | {
      readonly ok: false
      readonly failure: 'approval-self' | 'permission-denied'
      readonly code: ReasonCode
      readonly why: string
    }

export interface BindingFacts {
  readonly tool: ResolvedTool
  readonly operation: ResolvedOperation
  /** Of what would be sent. */
  readonly payloadHash: string
  readonly policyVersion: string
  readonly limits: ApprovalBinding['limits']
}

export function bindingOf({
  tool,
  operation,
  payloadHash,
  policyVersion,
  limits,
}: BindingFacts): ApprovalBinding {
  const { name, version, digest } = tool
  const { timeoutMs, maxAttempts } = limits
  return {
    tool: name,
    version,
    digest,
    operation: operation.name,
    payloadHash,
    policyVersion,
    limits: { timeoutMs, maxAttempts },
  }
}

/** What of it differs by now, in words that people know. */
export function changedSince(binding: ApprovalBinding, now: ApprovalBinding): readonly string[] {
  const changed: string[] = []
  const look = (what: string, same: boolean) => {
    if (!same) changed.push(what)
  }
  look('tool', binding.tool === now.tool && binding.operation === now.operation)
  look('tool version', binding.version === now.version && binding.digest === now.digest)
  look('payload', binding.payloadHash === now.payloadHash)
  look('policy', binding.policyVersion === now.policyVersion)
  look(
    'limits',
    binding.limits.timeoutMs === now.limits.timeoutMs &&
      binding.limits.maxAttempts === now.limits.maxAttempts,
  )
  return changed
}

/** Nothing of what an approval is for may differ when the call is sent. */
export function isStale(binding: ApprovalBinding, now: ApprovalBinding): boolean {
  return changedSince(binding, now).length > 0
}

/** Whether what people were asked for then is all that is asked of them now: rules may read the time, or what was spent. */
export function coversNeeds(given: readonly ApprovalNeed[], wanted: readonly ApprovalNeed[]): boolean {
  return wanted.every((need) =>
    given.some(
      ({ role, quorum, escalated }) =>
        role === need.role && escalated === need.escalated && quorum >= need.quorum,
    ),
  )
}

/**
 * Whoever asked never decides, nor the agent that it spoke for, nor any agent. A need with a role is met by holders of the
 * role, one without by whoever holds `approval:decide`. A delegate counts for who delegated; nobody counts twice.
 */
export function mayDecide(
  approval: Approval,
  decider: Decider,
  delegations: readonly Delegation[] = approval.delegations,
): MayDecide {
  const refused = refusedAtAll(approval, decider)
  if (refused !== undefined) return refused
  const decided = decidedBy(approval)
  const rights = rightsOf(approval, decider, delegations)
  if (rights.length === 0)
    return refuse('approver-unqualified', `${decider.actor} is not ${wantedOf(approval)}`)
  const open = rights.filter(({ onBehalfOf }) => !decided.has(onBehalfOf ?? decider.actor))
  // The one that counts for most; its own before that of somebody else.
  const [best] = open.toSorted((one, other) => other.roles.length - one.roles.length)
  if (best === undefined || decided.has(decider.actor))
    return refuse(
      'approver-decided',
      `${decider.actor}, or who handed the decision over, has decided already`,
    )
  return { ok: true, ...best }
}

interface Right {
  readonly roles: readonly string[]
  readonly decides?: true
  readonly onBehalfOf?: string
}

function rightsOf(
  approval: Approval,
  decider: Decider,
  delegations: readonly Delegation[],
): readonly Right[] {
  const own = ownRight(approval, decider)
  const wanted = neededRoles(approval)
  const handed = delegations
    .filter(({ from, to }) => to === decider.actor && !isRequester(approval, from))
    .map(({ from, roles, decides }) => ({
      roles: wanted.filter((role) => roles.includes(role)),
      ...(decides === undefined ? {} : { decides }),
      onBehalfOf: from,
    }))
  return own === undefined ? handed : [own, ...handed]
}

/** Whoever decides by its own right may hand that over, to somebody who is not the requester. Not further from there. */
export function mayDelegate(approval: Approval, from: Decider, to: string): MayDecide {
  const may = mayDecide(approval, from, [])
  if (!may.ok) return may
  if (isRequester(approval, to))
    return self(`${to} asked for this, so nobody can hand the decision over to it`)
  if (to === from.actor) return refuse('approver-unqualified', `${to} has the decision already`)
  return may
}

/** One denial denies; every need has to be met by its quorum. */
export function tally({
  needs,
  decisions,
}: Pick<Approval, 'needs' | 'decisions'>): 'pending' | 'approved' | 'denied' {
  if (decisions.some(({ decision }) => decision === 'denied')) return 'denied'
  const met = needs.every(({ role, quorum }) => {
    const counted = decisions.filter(({ roles, decides }) =>
      role === undefined ? decides === true : roles.includes(role),
    )
    // Whoever decided for somebody counts as that one, and nobody counts twice.
    const people = new Set(counted.map(({ by, onBehalfOf }) => onBehalfOf ?? by))
    const hands = new Set(counted.map(({ by }) => by))
    return Math.min(people.size, hands.size) >= quorum
  })
  return met && needs.length > 0 ? 'approved' : 'pending'
}

function refusedAtAll(approval: Approval, decider: Decider): MayDecide | undefined {
  const { actor, missingRoles, scopes } = decider
  if (isRequester(approval, actor)) return self(`${actor} asked for this, and cannot decide it`)
  if (kindOf(decider) === 'agent')
    return refuse('approver-agent', `${actor} is an agent; people and services decide`)
  if (missingRoles.length > 0)
    return refuse('role-missing', `${actor} has roles that do not exist: ${missingRoles.join(', ')}`)
  // A token for something narrower must not decide by the roles of its owner.
  if (scopes !== undefined && !scopes.some((scope) => covers(scope, DECIDE)))
    return refuse(
      'approver-unqualified',
      `the token of ${actor} is not for approvals: none of its scopes is ${DECIDE}`,
    )
  return undefined
}

const DECIDE = 'approval:decide'

function isRequester({ requester, agent }: Approval, actor: string): boolean {
  return actor === requester || actor === agent
}

function decidedBy({ decisions }: Approval): ReadonlySet<string> {
  return new Set(
    decisions.flatMap(({ by, onBehalfOf }) => (onBehalfOf === undefined ? [by] : [by, onBehalfOf])),
  )
}

function neededRoles({ needs }: Approval): readonly string[] {
  return [...new Set(needs.flatMap(({ role }) => role ?? []))]
}

/** What a decision of its own counts for; undefined: it has no right to one. A role alone meets no need without one. */
function ownRight(approval: Approval, decider: Decider): Right | undefined {
  const wanted = neededRoles(approval)
  // The local admin stands in for everybody on its machine.
  const roles = wanted.filter((role) => decider.admin || decider.roles.includes(role))
  const anybody = approval.needs.some(({ role }) => role === undefined)
  const decides = anybody && hasPermission(decider, DECIDE)
  if (!decides) return roles.length > 0 ? { roles } : undefined
  return { roles, decides }
}

function wantedOf(approval: Approval): string {
  const roles = neededRoles(approval).map((role) => `of role ${role}`)
  const anybody = approval.needs.some(({ role }) => role === undefined)
  return [...roles, ...(anybody ? [`a holder of ${DECIDE}`] : [])].join(' or ')
}

function self(why: string): MayDecide {
  return { ok: false, failure: 'approval-self', code: 'approval-self', why }
}

function refuse(code: ReasonCode, why: string): MayDecide {
  return { ok: false, failure: 'permission-denied', code, why }
}
