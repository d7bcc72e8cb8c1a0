// What goes into evidence about a call: hashes and names, never a payload (S40).

import type { CallState } from '../contract/answer.ts'
import type { EvidenceType } from '../contract/evidence.ts'
import { serialize } from '../ledger/fingerprint.ts'
import type { Fact } from '../ledger/ledger.ts'
import { sha256Hex } from '../util/canonical.ts'
import type { Json, JsonObject } from '../util/json.ts'
import { readPointer } from '../util/pointer.ts'
import type { Admitted, CallResult, Claimed, Received, Verified } from './stages.ts'

/** On disk before the first byte leaves: who, what, by which decision. */
export function startedFact(state: Admitted): Fact {
  return {
    type: 'tool.started',
    body: { ...claimed(state), decision: 'allow', attempt: state.entry.attempts + 1 },
  }
}

export function requestedFact(state: Claimed, approvalId: string): Fact {
  return {
    type: 'approval.requested',
    body: { ...claimed(state), approval_id: approvalId, reasons: state.approvalReasons },
  }
}

const ENDED: Record<CallState, EvidenceType> = {
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

export function endedFact(state: Verified, result: CallResult): Fact {
  const { auditFields } = state.target.tool
  const audit: Record<string, JsonObject[string]> = {}
  const shown = auditFields.length > 0 && state.input !== undefined ? masked(state) : undefined
  for (const field of auditFields) audit[field] = readPointer(shown, field) ?? null
  return {
    type: ENDED[result.state],
    body: {
      ...claimed(state),
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
      ...(failure?.id === 'permission-denied' && !result.replayed
        ? { missing: failure.details.missing ?? [] }
        : {}),
      ...(result.entryId === undefined ? {} : { entry_id: result.entryId }),
      // A refusal leaves these to its call: equal ones are counted (S40).
      ...(result.replayed ? { request_id: state.call.requestId, trace_id: state.call.trace.traceId } : {}),
    },
  }
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
