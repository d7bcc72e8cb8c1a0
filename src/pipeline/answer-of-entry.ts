// Tells of the end of a call that nobody holds any more, as every other end is told (S53).
import type { CatalogTool } from '../catalog/catalog.ts'
import type { CallRecord } from '../contract/call.ts'
import type { Entry } from '../contract/entry.ts'
import { CONTRACT_VERSION } from '../contract/version.ts'
import { endedPart } from './ended-event.ts'
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
    ...endedPart(answer, kit.world.clock.now()),
  })
}
