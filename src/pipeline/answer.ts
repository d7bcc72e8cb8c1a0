// From what a call came to, to what its caller is told and what is kept of it.
import { type Answer, isOutcome } from '../contract/answer.ts'
import type { CallRecord } from '../contract/call.ts'
import type { Caller } from '../contract/caller.ts'
import type { RefusedCall } from '../contract/dialect/dialect.ts'
import { CONTRACT_VERSION } from '../contract/version.ts'
import type { CallEndedEvent, CallEvent } from '../event/event.ts'
import type { Fact } from '../ledger/ledger.ts'
import { endedPart } from './ended-event.ts'
import type { Kit } from './kit.ts'
import { runningResult } from './result.ts'
import type { CallResult, Claimed, Received, Valid } from './stages.ts'

export function answerOf(state: Received, result: CallResult, kit: Kit): Answer {
  const { call } = state
  return {
    callId: call.id,
    requestId: call.requestId,
    state: result.state,
    final: isOutcome(result.state),
    effect: result.effect,
    ...(result.output === undefined ? {} : { output: result.output }),
    ...(result.failure === undefined ? {} : { failure: result.failure }),
    usage: {
      ...result.usage,
      durationMs: kit.world.clock.monotonic() - state.startedAt,
      attempt: result.attempt,
    },
    trace: call.trace,
    tool: { name: call.tool, operation: call.operation, ...result.tool },
    replayed: result.replayed,
    warnings: warningsOf(state, result),
    sideEffects: result.sideEffects,
    ...(result.commitToken === undefined ? {} : { commitToken: result.commitToken }),
    ...(result.commitBy === undefined ? {} : { commitBy: result.commitBy }),
    ...(call.saga === undefined ? {} : { saga: call.saga }),
  }
}

/** What the entry said to everybody, and what only this call needs to know. */
function warningsOf(state: Received, result: CallResult): readonly string[] {
  if (result.warnings === state.warnings || state.warnings.length === 0) return result.warnings
  return [...new Set([...result.warnings, ...state.warnings])]
}

/** The output is kept once: in the entry where there is one. */
export function recordOf(state: Received, answer: Answer, entryId: string | undefined, kit: Kit): CallRecord {
  const { call, caller } = state
  return {
    namespace: caller.namespace,
    id: call.id,
    requestId: call.requestId,
    dialect: call.dialect,
    actor: caller.actor,
    tool: call.tool,
    ...(answer.tool.version === undefined ? {} : { version: answer.tool.version }),
    operation: call.operation,
    ...(entryId === undefined ? {} : { entryId }),
    state: answer.state,
    effect: answer.effect,
    epoch: kit.world.epoch,
    createdAt: state.receivedAt,
    ...(answer.final ? { endedAt: kit.world.clock.now() } : {}),
    answer: entryId === undefined ? answer : bare(answer),
  }
}

function bare({ output: _, ...rest }: Answer): Answer {
  return rest
}

/** How a call is kept and shown while it runs. */
export function runningRecord(state: Received, kit: Kit): CallRecord {
  return recordOf(state, answerOf(state, runningResult(state), kit), state.held.entryId, kit)
}

/** What is kept of a request that could not be decoded (S8). */
export function refusedRecord(
  call: RefusedCall,
  caller: Caller,
  answer: Answer,
  kit: Kit,
): { readonly record: CallRecord; readonly fact: Fact } {
  const at = kit.world.clock.now()
  const failure = answer.failure?.id ?? ''
  return {
    record: {
      namespace: caller.namespace,
      id: call.id,
      requestId: call.requestId,
      dialect: call.dialect,
      actor: caller.actor,
      tool: call.tool,
      operation: call.operation,
      state: answer.state,
      effect: answer.effect,
      epoch: kit.world.epoch,
      createdAt: at,
      endedAt: at,
      answer,
    },
    fact: {
      type: 'request.refused',
      body: { actor: caller.actor, tool: call.tool, state: answer.state, failure },
    },
  }
}

/** Once per call: when it is resolved, so that the event can say what runs; else right before its end. */
export function emitStarted(state: Received, kit: Kit): void {
  if (state.held.started || state.call.dryRun) return
  state.held.started = true
  if (kit.events.heard('call:started')) kit.events.emit('call:started', startEvent(state))
}

export function emitEnded(state: Received, answer: Answer, kit: Kit): void {
  // A dry run is no execution.
  if (state.call.dryRun) return
  emitStarted(state, kit)
  const { failure } = answer
  if (answer.state === 'unknown' && !answer.replayed) {
    kit.events.emit('entry:unknown', {
      entry_id: (state as Partial<Claimed>).entry?.id ?? '',
      call_id: answer.callId,
      tool_id: answer.tool.name,
      failure: failure?.id ?? '',
    })
  }
  if (!kit.events.heard('call:ended')) return
  const event: CallEndedEvent = { ...startEvent(state), ...endedPart(answer, kit.world.clock.now()) }
  kit.events.emit('call:ended', event)
}

function startEvent(state: Received): CallEvent {
  const { call, caller } = state
  const { target, operation, bounds } = state as Partial<Valid>
  return {
    call_id: call.id,
    tool_contract_version: CONTRACT_VERSION,
    tool_request_id: call.requestId,
    namespace: caller.namespace,
    actor: caller.actor,
    tool_id: call.tool,
    tool_version: target?.tool.version ?? '',
    fn: call.operation,
    determinism: operation?.effect.determinism ?? '',
    timeout_ms: bounds?.timeoutMs ?? operation?.timeoutMs ?? 0,
    idempotency_key_prefix: state.key.slice(0, 8),
    tool_auth_profile: target?.tool.auth?.profile ?? '',
    tool_auth_secret_ref: target?.tool.auth?.secretRef ?? '',
    trace_id: call.trace.traceId,
    span_id: call.trace.spanId,
    started_at: new Date(state.receivedAt).toISOString(),
  }
}
