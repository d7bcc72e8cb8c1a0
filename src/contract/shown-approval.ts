// An approval as it is shown: over HTTP, to programs that are told of it, and to people.
import type { Json, JsonObject } from '../util/json.ts'
import type { Approval } from './approval.ts'
import type { Payload } from './entry.ts'

/** More than anybody reads before deciding; the whole input is with the call. */
const MOST_INPUT_BYTES = 256 * 1024

/** Input is masked before it is kept (S5), so there is nothing in it that must not be shown to whoever decides. */
export function showApproval(approval: Approval): JsonObject {
  const { binding } = approval
  return {
    id: approval.id,
    namespace: approval.namespace,
    state: approval.state,
    call_id: approval.callId,
    entry_id: approval.entryId,
    request_id: approval.requestId,
    requester: { actor: approval.requester, kind: approval.requesterKind },
    ...(approval.agent === undefined ? {} : { agent: approval.agent }),
    ...(approval.taskId === undefined ? {} : { task_id: approval.taskId }),
    tool: {
      name: binding.tool,
      version: binding.version,
      digest: binding.digest,
      operation: binding.operation,
    },
    operation_classes: approval.operationClasses,
    risk_level: approval.riskLevel,
    effect_class: approval.effectClass,
    read_only: approval.readOnly,
    payload_hash: binding.payloadHash,
    policy_version: binding.policyVersion,
    limits: { timeout_ms: binding.limits.timeoutMs, max_attempts: binding.limits.maxAttempts },
    reasons: approval.reasons,
    rules: approval.rules.map(({ policyId, policyVersion, rule }) => ({
      policy_id: policyId,
      policy_version: policyVersion,
      rule,
    })),
    needs: approval.needs.map(({ role, quorum, escalated }) => ({
      ...(role === undefined ? {} : { role }),
      quorum,
      ...(escalated === undefined ? {} : { escalated }),
    })),
    ...(approval.shown === undefined ? {} : { input: showPayload(approval.shown) }),
    ...(approval.asked === undefined ? {} : { asked: showPayload(approval.asked) }),
    decisions: approval.decisions.map((one) => ({
      decision: one.decision,
      decided_by: one.by,
      kind: one.kind,
      roles: one.roles,
      at: isoTime(one.at),
      via: one.via,
      ...(one.comment === undefined ? {} : { comment: one.comment }),
      ...(one.onBehalfOf === undefined ? {} : { on_behalf_of: one.onBehalfOf }),
    })),
    delegations: approval.delegations.map(({ from, to, at }) => ({ from, to, at: isoTime(at) })),
    created_at: isoTime(approval.createdAt),
    expires_at: isoTime(approval.expiresAt),
    ...(approval.endedAt === undefined ? {} : { ended_at: isoTime(approval.endedAt) }),
    ...(approval.why === undefined ? {} : { why: approval.why }),
  }
}

function showPayload(payload: Payload): Json {
  if (!('inline' in payload)) {
    const { digest, bytes, mediaType } = payload
    return { omitted: true, digest, bytes, media_type: mediaType }
  }
  const bytes = Buffer.byteLength(JSON.stringify(payload.inline))
  return bytes <= MOST_INPUT_BYTES ? payload.inline : { omitted: true, bytes }
}

function isoTime(at: number): string {
  return new Date(at).toISOString()
}
