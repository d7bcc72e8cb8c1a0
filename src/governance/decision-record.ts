// A decision as evidence keeps it: who decided by what, what was read, who has to agree. Names and codes, never values.
import type { Decision } from '../contract/decision.ts'
import type { JsonObject } from '../util/json.ts'
import { strictest } from './combine.ts'

export interface DecisionFacts {
  readonly decisionId: string
  /** Where the record that it is part of does not name the request itself. */
  readonly requestId?: string
  /** Wall time. */
  readonly at: number
  /** Records that it was made by, such as the approval or the grant that was used. */
  readonly evidenceRefs?: readonly string[]
  /** The decision that this one overrides; that one stays as it is. */
  readonly overrides?: string
}

/**
 * What of the sixteen fields of a decision the evidence record does not hold already: when and in which namespace it was
 * made are columns of it, the tool and its operation are beside the decision. A field that would say nothing is left out.
 */
export function decisionRecord(decision: Decision, facts: DecisionFacts): JsonObject {
  const { requestId, overrides, evidenceRefs = [] } = facts
  const { fields, matches, needs } = decision
  return {
    policy_id: strictest(decision)?.policyId ?? 'permissions',
    policy_version: decision.policyVersion,
    decision_id: facts.decisionId,
    ...(requestId === undefined ? {} : { request_id: requestId }),
    ...(fields.length === 0 ? {} : { inputs: fields.map((field) => (field === '' ? '/' : field)) }),
    decision: decision.kind,
    reason_codes: [
      ...new Set(matches.map(({ code, monitored }) => (monitored ? `monitored:${code}` : code))),
    ],
    ...(needs.length === 0 ? {} : whoDecides(decision, facts.at)),
    ...(overrides === undefined ? {} : { override_policy: overrides }),
    evidence_refs: [
      ...matches.map(({ policyId, policyVersion, rule }) => `${policyId}@${policyVersion}#${rule}`),
      ...evidenceRefs,
    ],
    redaction: 'names-only',
  }
}

function whoDecides({ needs, ttlMs }: Decision, at: number): JsonObject {
  return {
    required_approvals: needs.map(({ role, quorum, escalated }) => ({
      role: role ?? null,
      quorum,
      escalated: escalated === true,
    })),
    approval_authority: [...new Set(needs.map(({ role }) => role ?? 'approval:decide'))],
    expires_at_utc: new Date(at + ttlMs).toISOString(),
    review_path: needs.some((need) => need.escalated === true) ? 'escalation' : 'approval',
  }
}
