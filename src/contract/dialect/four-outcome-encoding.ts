// Writes the four-outcome envelopes. Everything that 004 has no field for lives in `provenance`, which it leaves open (S6).
import type { JsonObject } from '../../util/json.ts'
import { isUuid } from '../../util/uuid.ts'
import type { Answer } from '../answer.ts'
import type { Failure } from '../failure.ts'
import { failureRow } from '../failures.ts'
import { fourOutcomeStatusOf, wireDetailsOf } from '../projection.ts'
import { FOUR_OUTCOME_TIMEOUT_MAX_MS } from '../schema/four-outcome.ts'
import type { ToolRequest } from './dialect.ts'
import { assertHasEnvelope, commitByOf, extrasOf, traceFields, usageOf } from './encoding.ts'

/** Where nothing was resolved, 004 still demands a version (S6). */
const UNRESOLVED_VERSION = '0.0.0-unresolved'

/** 004 promises a backoff hint with every retryable error; this is the one where nothing better is known. */
const DEFAULT_RETRY_AFTER_MS = 1_000

export function encodeFourOutcome(answer: Answer): JsonObject {
  assertHasEnvelope(answer)
  const { failure, tool } = answer
  return {
    call_id: callIdOf(answer),
    status: fourOutcomeStatusOf(answer),
    ...(failure === undefined ? { output: answer.output ?? null } : { error: errorOf(answer, failure) }),
    metrics: usageOf(answer.usage),
    provenance: {
      tool_id: tool.name,
      tool_version: tool.version ?? UNRESOLVED_VERSION,
      ...(tool.digest === undefined ? {} : { digest: tool.digest }),
      fn: tool.operation,
      writ_call_id: answer.callId,
      trace: traceFields(answer),
      effect: answer.effect,
      final: answer.final,
      replayed: answer.replayed,
      ...(answer.saga === undefined ? {} : { saga: answer.saga }),
      ...commitByOf(answer),
    },
    ...extrasOf(answer),
  }
}

/** A caller's id that is no UUID cannot stand in the envelope: Writ's own stands in for it. */
function callIdOf(answer: Answer): string {
  return isUuid(answer.requestId) ? answer.requestId : answer.callId
}

/** Each outcome with what 004 promises for it: violations, a backoff hint, or (in every row) a corrective action. */
function errorOf(answer: Answer, failure: Failure): JsonObject {
  const status = fourOutcomeStatusOf(answer)
  const details = wireDetailsOf(answer, failure)
  return {
    code: failureRow(failure.id).four.code,
    message: failure.message,
    details: {
      ...(status === 'retryable_error' ? { retry_after_ms: DEFAULT_RETRY_AFTER_MS } : {}),
      ...(status === 'invalid_request' ? { violations: [{ path: '', message: failure.message }] } : {}),
      ...(isUuid(answer.requestId) ? {} : { received_call_id: answer.requestId }),
      ...details,
    },
  }
}

export function encodeFourOutcomeSend(request: ToolRequest): JsonObject {
  const { tool } = request
  return {
    call_id: isUuid(request.requestId) ? request.requestId : request.callId,
    tool_id: tool.name,
    tool_version: tool.version,
    fn: tool.operation,
    input: request.input === undefined ? {} : request.input,
    context: contextOf(request),
    constraints: {
      timeout_ms: Math.min(FOUR_OUTCOME_TIMEOUT_MAX_MS, Math.max(1, Math.floor(request.timeoutMs))),
      deadline_unix_ms: Math.max(0, Math.floor(request.deadlineUnixMs)),
      idempotency_key: request.key,
      ...(request.memoryMb === undefined ? {} : { memory_mb_limit: Math.max(16, request.memoryMb) }),
      ...(request.netAllowlist === undefined ? {} : { net_allowlist: request.netAllowlist }),
    },
    provenance: {
      ...request.echo?.provenance,
      // What we know of this send stands over what the caller calls by the same name.
      digest: tool.digest,
      attempt: request.attempt,
      request_id: request.requestId,
      writ_call_id: request.callId,
      namespace: request.namespace,
      ...(request.taskId === undefined ? {} : { task_id: request.taskId }),
      ...(request.agent === undefined ? {} : { agent: request.agent }),
      // The rest of 004's request is closed.
      ...(request.callback === undefined ? {} : { callback: request.callback }),
    },
  }
}

/** The caller's own words where it spoke 004; a caller that was never asked stands in UTC, on wall time, in `prod`. */
function contextOf(request: ToolRequest): JsonObject {
  return {
    ...(request.echo?.context ?? { timezone: 'UTC', clock: 'wall', env: 'prod' }),
    // What the request leaves of those of the credential (S2), in place of what the caller names.
    ...(request.scopes === undefined ? {} : { scopes: request.scopes }),
    actor_id: request.actor,
    trace_id: traceUuid(request),
    parent_span_id: request.trace.spanId,
  }
}

/** 004 wants a UUID. 32 hex digits are one without its dashes; any other id is only in our own records. */
function traceUuid(request: ToolRequest): string {
  const given = request.trace.traceId
  if (isUuid(given)) return given
  const parts = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})$/i.exec(given)
  return parts === null ? request.callId : parts.slice(1).join('-')
}
