// What a client can do about approvals: see what waits, decide it, and agree to a class of calls beforehand.
import type { ApprovalState } from '../contract/approval.ts'
import type { ActorKind } from '../contract/caller.ts'
import type { Json, JsonObject } from '../util/json.ts'
import { type Ask, ask, type Got, segment, type Target } from './exchange.ts'

/** A question to people about one call, as the server shows it: sensitive fields of the input are masked. */
export interface ApprovalResource {
  readonly id: string
  readonly namespace: string
  readonly state: ApprovalState
  readonly call_id: string
  readonly entry_id: string
  readonly request_id: string
  readonly requester: { readonly actor: string; readonly kind: ActorKind }
  readonly agent?: string
  readonly task_id?: string
  readonly tool: {
    readonly name: string
    readonly version: string
    readonly digest: string
    readonly operation: string
  }
  readonly operation_classes: readonly string[]
  readonly risk_level: string
  readonly effect_class: string
  readonly read_only: boolean
  readonly payload_hash: string
  readonly policy_version: string
  readonly limits: { readonly timeout_ms: number; readonly max_attempts: number }
  readonly reasons: readonly string[]
  readonly rules: readonly {
    readonly policy_id: string
    readonly policy_version: string
    readonly rule: string
  }[]
  /** All of them have to be met. */
  readonly needs: readonly ApprovalNeedShown[]
  /** What would be sent. */
  readonly input?: Json
  /** Where policy narrowed it: what was asked for. */
  readonly asked?: Json
  readonly decisions: readonly ApprovalDecisionShown[]
  readonly delegations: readonly { readonly from: string; readonly to: string; readonly at: string }[]
  readonly created_at: string
  readonly expires_at: string
  readonly ended_at?: string
  readonly why?: string
  /** For writes: what differs from the last call of this kind that was agreed to. */
  readonly diff?: InputDiff
}

export interface ApprovalNeedShown {
  readonly role?: string
  readonly quorum: number
  readonly escalated?: true
}

export interface ApprovalDecisionShown {
  readonly decision: 'approved' | 'denied'
  readonly decided_by: string
  readonly kind: ActorKind
  readonly roles: readonly string[]
  readonly at: string
  readonly via: 'api' | 'link'
  readonly comment?: string
  readonly on_behalf_of?: string
}

export interface InputDiff {
  /** The approval whose input this one is compared with. */
  readonly approval_id: string
  readonly call_id: string
  readonly at: string
  readonly changes: readonly InputChange[]
}

export interface InputChange {
  readonly op: 'add' | 'remove' | 'change'
  /** JSON pointer into the input. */
  readonly path: string
  readonly from?: Json
  readonly to?: Json
}

export interface ApprovalPage {
  readonly approvals: readonly ApprovalResource[]
  readonly next_cursor: string | null
}

export interface ApprovalListOptions {
  readonly state?: ApprovalState
  readonly tool?: string
  /** The actor that asked. */
  readonly requester?: string
  readonly limit?: number
  readonly cursor?: string
}

/** A literal comparison on the input, as policies write it. */
export interface GrantCondition {
  /** JSON pointer. */
  readonly field: string
  readonly op: string
  readonly value?: Json
}

export interface GrantRequest {
  readonly tool: string
  /** @default the tool's own */
  readonly operation?: string
  /** All of them have to hold; one that cannot be judged does not. */
  readonly when?: readonly GrantCondition[]
  /** Only calls of this actor. */
  readonly caller?: string
  /** The role whose decision it stands for. @default whoever may decide at all */
  readonly role?: string
  /** How long, such as 1h. */
  readonly ttl: string
  readonly maxUses?: number
  /** Kept in evidence. */
  readonly reason?: string
}

/** A class of calls that somebody has agreed to beforehand. */
export interface GrantResource {
  readonly id: string
  readonly namespace: string
  readonly tool: { readonly name: string; readonly digest: string; readonly operation: string }
  readonly when: readonly GrantCondition[]
  readonly caller?: string
  readonly role?: string
  readonly by: string
  readonly created_at: string
  readonly expires_at: string
  readonly max_uses?: number
  readonly uses?: number
  readonly reason?: string
}

export interface ApprovalClient {
  /** Newest first. */
  listApprovals(options?: ApprovalListOptions): Promise<ApprovalPage>
  getApproval(id: string): Promise<ApprovalResource>
  /** The call goes on by itself once all who are needed have agreed. */
  approve(id: string, options?: { readonly comment?: string }): Promise<ApprovalResource>
  deny(id: string, options: { readonly reason: string }): Promise<ApprovalResource>
  /** Somebody else decides in your place. */
  delegateApproval(id: string, options: { readonly to: string }): Promise<ApprovalResource>
  /** A denial no longer counts for its key: its caller may ask again. */
  overrideDenial(id: string, options: { readonly reason: string }): Promise<ApprovalResource>
  listGrants(): Promise<readonly GrantResource[]>
  makeGrant(request: GrantRequest): Promise<GrantResource>
  /** `reason` is kept in evidence. */
  endGrant(id: string, options?: { readonly reason?: string }): Promise<void>
}

export function approvalClient(target: Target, timeoutMs: number): ApprovalClient {
  const get = (path: string, query: Ask['query'] = {}): Promise<Got> =>
    ask(target, { method: 'GET', path, query, timeoutMs })
  const post = (path: string, body: JsonObject): Promise<Got> =>
    ask(target, { method: 'POST', path, body: JSON.stringify(body), timeoutMs })
  const approval = async (got: Promise<Got>): Promise<ApprovalResource> => as((await got).body)

  return {
    async listApprovals({ state, tool, requester, limit, cursor } = {}) {
      return as((await get('v1/approvals', { state, tool, requester, limit, cursor })).body)
    },
    getApproval: (id) => approval(get(`v1/approvals/${segment(id)}`)),
    approve: (id, { comment } = {}) =>
      approval(post(`v1/approvals/${segment(id)}/approve`, comment === undefined ? {} : { comment })),
    deny: (id, { reason }) => approval(post(`v1/approvals/${segment(id)}/deny`, { reason })),
    delegateApproval: (id, { to }) => approval(post(`v1/approvals/${segment(id)}/delegate`, { to })),
    overrideDenial: (id, { reason }) => approval(post(`v1/approvals/${segment(id)}/override`, { reason })),

    async listGrants() {
      return as<{ readonly grants: readonly GrantResource[] }>((await get('v1/grants')).body).grants
    },
    async makeGrant({ maxUses, when, ...request }) {
      const conditions = when?.map(({ field, op, value }) => ({
        field,
        op,
        ...(value === undefined ? {} : { value }),
      }))
      const body: JsonObject = {
        ...(JSON.parse(JSON.stringify(request)) as JsonObject),
        ...(conditions === undefined ? {} : { when: conditions }),
        ...(maxUses === undefined ? {} : { max_uses: maxUses }),
      }
      return as((await post('v1/grants', body)).body)
    },
    async endGrant(id, { reason } = {}) {
      await ask(target, { method: 'DELETE', path: `v1/grants/${segment(id)}`, query: { reason }, timeoutMs })
    },
  }
}

/** The server's own schemas promise these shapes. */
function as<T>(body: JsonObject): T {
  return body as unknown as T
}
