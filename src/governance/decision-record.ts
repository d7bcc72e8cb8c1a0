// A decision as evidence keeps it: who decided by what, what was read, who has to agree. Names and codes, never values.
import type { Decision } from '../contract/decision.ts'
import type { JsonObject } from '../util/json.ts'
import { strictest } from './combine.ts'

export interface DecisionFacts {
  readonly decisionId: string
  readonly requestId: string
  /** Wall time. */
  readonly at: number
  readonly scope: { readonly namespace: string; readonly tool: string; readonly operation: string }
  /** Records that it was made by, such as the approval or the grant that was used. */
  readonly evidenceRefs?: readonly string[]
  /** The decision that this one overrides; that one stays as it is. */
  readonly overrides?: string
}

/** The sixteen fields of a decision record. */
export function decisionRecord(decision: Decision, facts: DecisionFacts): JsonObject {
  const first = strictest(decision)
  const { needs, ttlMs } = decision
  const waits = needs.length > 0
  return {
    policy_id: first?.policyId ?? 'permissions',
    policy_version: decision.policyVersion,
    decision_id: facts.decisionId,
    request_id: facts.requestId,
    evaluated_at_utc: new Date(facts.at).toISOString(),
    scope: { ...facts.scope },
    inputs: decision.fields.map((field) => (field === '' ? '/' : field)),
    decision: decision.kind,
    reason_codes: [
      ...new Set(decision.matches.map(({ code, monitored }) => (monitored ? `monitored:${code}` : code))),
    ],
    required_approvals: needs.map(({ role, quorum, escalated }) => ({
      role: role ?? null,
      quorum,
      escalated: escalated === true,
    })),
    approval_authority: [...new Set(needs.map(({ role }) => role ?? 'approval:decide'))],
    expires_at_utc: waits ? new Date(facts.at + ttlMs).toISOString() : null,
    override_policy: facts.overrides ?? null,
    evidence_refs: [
      ...decision.matches.map(({ policyId, policyVersion, rule }) => `${policyId}@${policyVersion}#${rule}`),
      ...(facts.evidenceRefs ?? []),
    ],
    redaction: 'names of fields only; values are not kept',
    review_path: decision.needs.some((need) => need.escalated === true)
      ? 'escalation'
      : waits
        ? 'approval'
        : 'none',
  }
}
