// A question to people about one call: may this very payload be sent to this very tool?
import type { JsonObject } from '../util/json.ts'
import type { ActorKind } from './caller.ts'
import type { ApprovalNeed, RuleRef } from './decision.ts'
import type { EffectClass } from './effect.ts'
import type { CallerSnapshot, Payload } from './entry.ts'

export const APPROVAL_STATES = [
  /** waits for people */
  'pending',
  /** all have agreed; the call is about to go on */
  'approved',
  /** consumed by the intent of its call: it fits nothing any more */
  'used',
  'denied',
  /** nobody decided, or nothing was sent, in time */
  'expired',
  /** what it was asked about is no longer what would be sent */
  'stale',
  /** the call was canceled while it waited */
  'canceled',
] as const
export type ApprovalState = (typeof APPROVAL_STATES)[number]

/** The moves that exist. Everything else is refused by the store. */
export const APPROVAL_MOVES: Readonly<Record<ApprovalState, readonly ApprovalState[]>> = {
  pending: ['pending', 'approved', 'denied', 'expired', 'stale', 'canceled'],
  approved: ['used', 'expired', 'stale', 'denied', 'canceled'],
  used: [],
  denied: [],
  expired: [],
  stale: [],
  canceled: [],
}

/** What an approval is for: nothing of it may differ when the call is sent. */
export interface ApprovalBinding {
  readonly tool: string
  readonly version: string
  readonly digest: string
  readonly operation: string
  /** Of what would be sent. */
  readonly payloadHash: string
  readonly policyVersion: string
  readonly limits: { readonly timeoutMs: number; readonly maxAttempts: number }
}

export interface ApprovalDecision {
  /** The authenticated identity; never what a request says. */
  readonly by: string
  readonly kind: ActorKind
  /** Those that counted when it was decided. */
  readonly roles: readonly string[]
  /** It counts for needs without a role: whoever decided held `approval:decide`. */
  readonly decides?: true
  readonly decision: 'approved' | 'denied'
  readonly at: number
  readonly comment?: string
  /** Who had handed the decision over. */
  readonly onBehalfOf?: string
  readonly via: 'api' | 'link'
}

export interface Delegation {
  readonly from: string
  /** The roles of whoever delegates, as they were then. */
  readonly roles: readonly string[]
  /** Whoever delegates held `approval:decide`. */
  readonly decides?: true
  readonly to: string
  readonly at: number
}

export interface Approval {
  readonly namespace: string
  readonly id: string
  readonly state: ApprovalState
  /** Counts writes; every change names the one it read. */
  readonly revision: number
  readonly entryId: string
  /** The call that asked. */
  readonly callId: string
  readonly requestId: string
  readonly requester: string
  readonly requesterKind: ActorKind
  /** Whoever asked, as it was then: the call goes on in its name, and not in that of an earlier try with the key (S36). */
  readonly caller?: CallerSnapshot
  readonly agent?: string
  readonly taskId?: string
  readonly binding: ApprovalBinding
  readonly operationClasses: readonly string[]
  readonly riskLevel: string
  readonly effectClass: EffectClass
  readonly readOnly: boolean
  readonly reasons: readonly string[]
  readonly rules: readonly RuleRef[]
  readonly needs: readonly ApprovalNeed[]
  /** What would be sent, with sensitive fields masked (S5). Erased with the payload of its entry (S18). */
  readonly shown?: Payload
  /** Where policy narrowed it: what was asked for, masked as well. */
  readonly asked?: Payload
  readonly decisions: readonly ApprovalDecision[]
  readonly delegations: readonly Delegation[]
  /** Links that were used: each decides once. */
  readonly usedLinks: readonly string[]
  readonly createdAt: number
  readonly expiresAt: number
  readonly endedAt?: number
  /** Why it ended as it did, where nobody decided it. */
  readonly why?: string
  /** Where whoever asked wants to hear of the end of the call. */
  readonly callback?: JsonObject
}
