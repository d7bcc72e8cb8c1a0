// Tells of the end of a call that nobody holds any more, as every other end is told (S53).
import type { CatalogTool } from '../catalog/catalog.ts'
import type { CallRecord } from '../contract/call.ts'
import type { Entry } from '../contract/entry.ts'
import { failureRow } from '../contract/failures.ts'
import { fourOutcomeStatusOf, v1StatusOf } from '../contract/projection.ts'
import { CONTRACT_VERSION } from '../contract/version.ts'
import type { Kit } from './kit.ts'

export function emitEntryEnded(entry: Entry, { tool }: CatalogTool, record: CallRecord, kit: Kit): void {
  const { answer } = record
  if (answer === undefined) return
  const { failure } = answer
  if (answer.state === 'unknown') {
    const ids = { entry_id: entry.id, call_id: entry.callId, tool_id: entry.tool }
    kit.events.emit('entry:unknown', { ...ids, failure: failure?.id ?? '' })
  }
  if (!kit.events.heard('call:ended')) return
  const operation = tool.operations[entry.operation]
  const row = failure && failureRow(failure.id)
  kit.events.emit('call:ended', {
    call_id: record.id,
    tool_contract_version: CONTRACT_VERSION,
    tool_request_id: record.requestId,
    namespace: entry.namespace,
    actor: entry.caller.actor,
    tool_id: entry.tool,
    tool_version: entry.version,
    fn: entry.operation,
    determinism: operation?.effect.determinism ?? '',
    timeout_ms: operation?.timeoutMs ?? 0,
    idempotency_key_prefix: entry.key.slice(0, 8),
    tool_auth_profile: tool.auth?.profile ?? '',
    tool_auth_secret_ref: tool.auth?.secretRef ?? '',
    trace_id: entry.trace.traceId,
    span_id: entry.trace.spanId,
    started_at: new Date(record.createdAt).toISOString(),
    ended_at: new Date(kit.world.clock.now()).toISOString(),
    duration_ms: answer.usage.durationMs,
    tool_attempt: answer.usage.attempt,
    tool_status: v1StatusOf(answer),
    tool_code: row?.v1.code ?? '',
    tool_reason: row?.v1.reason ?? '',
    error_code: row?.four.code ?? '',
    error_reason: row?.dotted ?? '',
    outcome: fourOutcomeStatusOf(answer),
    retryable: failure?.retryable ?? false,
    failure: failure?.id ?? '',
    state: answer.state,
    effect: answer.effect,
    replayed: answer.replayed,
  })
}
