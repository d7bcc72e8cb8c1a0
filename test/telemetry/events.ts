// Events as a runtime would emit them.
import type { CallEndedEvent, CallEvent } from '../../src/event/event.ts'

export function started(event: Partial<CallEvent> = {}): CallEvent {
  return {
    call_id: '019a0000-0000-7000-8000-000000000001',
    tool_contract_version: 'v1',
    tool_request_id: 'req-1',
    namespace: 'default',
    actor: 'local-admin',
    tool_id: 'web.search',
    tool_version: '1.4.2',
    fn: 'invoke',
    determinism: 'pure',
    timeout_ms: 30_000,
    idempotency_key_prefix: 'abcdefgh',
    tool_auth_profile: 'bearer',
    tool_auth_secret_ref: 'search-key',
    trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
    span_id: '00f067aa0ba902b7',
    started_at: '2026-01-02T03:04:05.000Z',
    ...event,
  }
}

export function ended(event: Partial<CallEndedEvent> = {}): CallEndedEvent {
  return {
    ...started(event),
    ended_at: '2026-01-02T03:04:05.012Z',
    duration_ms: 12,
    tool_attempt: 1,
    tool_status: 'ok',
    tool_code: '',
    tool_reason: '',
    error_code: '',
    error_reason: '',
    outcome: 'success',
    retryable: false,
    failure: '',
    state: 'succeeded',
    effect: 'none',
    replayed: false,
    ...event,
  }
}
