// What goes into evidence about a call: hashes and names, never a payload (S40).

import type { CallState } from '../contract/answer.ts'
import type { Decision } from '../contract/decision.ts'
import type { EvidenceType } from '../contract/evidence.ts'
import type { Failure } from '../contract/failure.ts'
import type { FailureId } from '../contract/failures.ts'
import { decisionRecord } from '../governance/decision-record.ts'
import type { ReasonCode } from '../governance/reason-code.ts'
import { serialize } from '../ledger/fingerprint.ts'
import type { Fact } from '../ledger/ledger.ts'
import { sha256Hex } from '../util/canonical.ts'
import { isJsonObject, type Json, type JsonObject } from '../util/json.ts'
import { readPointer } from '../util/pointer.ts'
import type { Kit } from './kit.ts'
import type { Admitted, CallResult, Claimed, Granted, Received, Verified } from './stages.ts'

/** On disk before the first byte leaves: who, what, by which decision. */
export function startedFact(state: Admitted, kit: Kit): Fact {
  return {
    type: 'tool.started',
    body: {
      ...claimed(state),
      ...narrowedHash(state),
      decision: recordOf(state, kit),
      attempt: state.entry.attempts + 1,
    },
  }
}

export function requestedFact(state: Claimed, approvalId: string, kit: Kit): Fact {
  return {
    type: 'approval.requested',
    body: {
      ...claimed(state),
      ...narrowedHash(state),
      approval_id: approvalId,
      decision: recordOf(state, kit),
    },
  }
}

/** What was sent differs from what was asked for: both are on record (S43). */
function narrowedHash({ narrowed }: Claimed): JsonObject {
  return narrowed === undefined ? {} : { sent_hash: sha256Hex(narrowed.payloadText) }
}

function recordOf({ decision, decisionId }: Granted, kit: Kit): JsonObject {
  return decisionRecord(decision, { decisionId, at: kit.world.clock.now() })
}

/** Policy made a dry run of it: it was asked for and not made. */
export function driedFact(state: Granted, kit: Kit): Fact {
  const { actor } = state.caller
  const { tool, operation, requestId } = state.call
  const reason: ReasonCode = 'dry-run-only'
  const decision = recordOf(state, kit)
  return {
    type: 'request.skipped',
    body: { request_id: requestId, actor, tool, operation, status: 'SKIPPED', reason, decision },
  }
}

/** The decision by which a call was refused; undefined where something else stood in its way. */
export function refusedDecision(
  received: Received,
  { failure }: CallResult,
  kit: Kit,
): JsonObject | undefined {
  const said = failure?.details.policy_ref
  if (failure === undefined || !isJsonObject(said ?? null)) return undefined
  const ref = said as JsonObject
  const { decision, decisionId } = received as Partial<Granted>
  const made = decision !== undefined && decisionId === ref.decision_id ? decision : deniedAs(failure, ref)
  return decisionRecord(made, {
    decisionId: String(ref.decision_id),
    requestId: received.call.requestId,
    at: kit.world.clock.now(),
  })
}

/** What decides before policy is asked says no more than this: the one rule, and its code. */
function deniedAs({ details, message }: Failure, ref: JsonObject): Decision {
  const policyVersion = String(ref.policy_version)
  const missing = Array.isArray(details.missing) ? details.missing : []
  return {
    kind: 'deny',
    matches: [
      {
        policyId: String(ref.policy_id),
        policyVersion,
        rule: String(ref.rule ?? missing.join(' ')),
        decision: 'deny',
        code: String(details.code ?? 'denied'),
        reason: message,
      },
    ],
    near: [],
    needs: [],
    ttlMs: 0,
    narrowings: [],
    spends: [],
    fields: [],
    policyVersion,
  }
}

export const ENDED: Record<CallState, EvidenceType> = {
  succeeded: 'tool.completed',
  failed: 'tool.failed',
  denied: 'tool.denied',
  invalid: 'tool.invalid',
  canceled: 'tool.canceled',
  'timed-out': 'tool.timed-out',
  prepared: 'tool.prepared',
  unknown: 'tool.unknown',
  // What was executed never ends in these; of one that did, nobody could say what it has done.
  reconciling: 'tool.unknown',
  running: 'tool.unknown',
  'awaiting-approval': 'tool.unknown',
}

export function endedFact(state: Verified, result: CallResult, kit: Kit): Fact {
  const { auditFields } = state.target.tool
  const audit: Record<string, JsonObject[string]> = {}
  const shown = auditFields.length > 0 && state.input !== undefined ? masked(state) : undefined
  for (const field of auditFields) audit[field] = readPointer(shown, field) ?? null
  return {
    type: ENDED[result.state],
    body: {
      ...claimed(state),
      // What has an intent has it there, and the decision with it.
      ...(state.execution.intended === undefined
        ? { ...narrowedHash(state), decision: recordOf(state, kit) }
        : deniedLater(state, result, kit)),
      attempt: result.attempt,
      effect: result.effect,
      ...(result.failure ? { failure: result.failure.id } : {}),
      ...(result.output === undefined ? {} : { output_hash: sha256Hex(serialize(result.output)) }),
      ...(result.sideEffects.length === 0
        ? {}
        : {
            side_effects: result.sideEffects.length,
            side_effects_hash: sha256Hex(JSON.stringify(result.sideEffects)),
          }),
      ...(auditFields.length === 0 ? {} : { audit_fields: audit }),
    },
  }
}

/** What let the first attempt through is not what refused the next one: that has a record of its own. */
function deniedLater(state: Verified, result: CallResult, kit: Kit): JsonObject {
  if (result.failure === undefined || !BY_GOVERNANCE.has(result.failure.id)) return {}
  const decision = refusedDecision(state, result, kit)
  return decision === undefined ? {} : { decision }
}

/** A call that never got as far as an entry of its own. */
export function refusedFact(state: Received, result: CallResult): Fact {
  const { failure } = result
  return {
    type: result.replayed ? 'request.replayed' : 'request.refused',
    body: {
      actor: state.caller.actor,
      tool: state.call.tool,
      operation: state.call.operation,
      state: result.state,
      ...(failure ? { failure: failure.id } : {}),
      // Only what governance itself said: the details of any other failure may be a tool's own words.
      ...(failure !== undefined && BY_GOVERNANCE.has(failure.id) && !result.replayed
        ? governanceSaid(failure)
        : {}),
      ...(result.entryId === undefined ? {} : { entry_id: result.entryId }),
      // A refusal leaves these to its call: equal ones are counted (S40).
      ...(result.replayed ? { request_id: state.call.requestId, trace_id: state.call.trace.traceId } : {}),
    },
  }
}

const BY_GOVERNANCE: ReadonlySet<FailureId> = new Set<FailureId>([
  'permission-denied',
  'output-withheld',
  'frozen',
  'quota-exhausted',
  'approval-stale',
])

/** The policy, the rule and the code; which decision it was is told by the call, so that equal ones are counted. */
function governanceSaid({ id, details }: Failure): JsonObject {
  const { policy_id, policy_version, rule } = isJsonObject(details.policy_ref) ? details.policy_ref : {}
  return {
    // It was asked for and not made, and this is why.
    status: 'SKIPPED',
    reason: details.code ?? id,
    missing: details.missing ?? [],
    ...orNothing({ code: details.code, policy_id, policy_version, rule, frozen: details.frozen }),
  }
}

function orNothing(parts: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(parts).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  )
}

/** Evidence is never erased: what is sensitive must not get into it (S5, S40). */
function masked(state: Verified): Json {
  const input = state.input ?? null
  return state.target.masks.get(state.operation.name)?.(input) ?? input
}

function claimed(state: Claimed): JsonObject {
  const { entry } = state
  return {
    entry_id: entry.id,
    request_id: state.call.requestId,
    trace_id: state.call.trace.traceId,
    actor: state.caller.actor,
    tool: entry.tool,
    version: entry.version,
    digest: entry.digest,
    operation: entry.operation,
    payload_hash: entry.payloadHash,
  }
}
