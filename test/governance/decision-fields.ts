// The sixteen fields of a decision, gathered from the evidence record that has it as docs/reference/evidence.md says.
import type { Json, JsonObject } from '../../src/util/json.ts'

interface DecisionEvidence {
  readonly namespace: string
  readonly at: number
  readonly body: JsonObject
}

export function decisionFields({ namespace, at, body }: DecisionEvidence): Readonly<Record<string, Json>> {
  const { decision: kept, request_id = null, tool = null, operation = null } = body
  const decision = kept as JsonObject
  return {
    request_id,
    scope: { namespace, tool, operation },
    evaluated_at_utc: new Date(at).toISOString(),
    inputs: [],
    required_approvals: [],
    approval_authority: [],
    expires_at_utc: null,
    override_policy: null,
    review_path: 'none',
    // Last: earlier records have all of them here.
    ...decision,
  }
}
