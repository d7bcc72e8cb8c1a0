// What a server answered to a call, read from any dialect and from the Call resource into one shape.
import type { CallState } from '../contract/answer.ts'
import { EFFECT_STATES, type EffectState } from '../contract/effect.ts'
import type { Failure } from '../contract/failure.ts'
import { stateOf } from '../contract/projection.ts'
import type { CallResource } from '../contract/schema/call-resource.ts'
import { isJsonObject, type Json, type JsonObject, type Violation } from '../util/json.ts'
import { ClientError } from './client-error.ts'
import { type Got, isFailureId, textOf, violationsOf } from './exchange.ts'

export interface CallFailure extends Failure {
  readonly fix: string
  readonly violations: readonly Violation[]
}

export interface CallReply {
  /** Writ's own id of the call. Absent for a dry run, which leaves nothing to be found (S17). */
  readonly callId?: string
  readonly state: CallState
  /** Whether this is an outcome, which never changes. */
  readonly final: boolean
  readonly effect: EffectState
  readonly output?: Json
  readonly failure?: CallFailure
  /** The number of the last send, 0 if none. */
  readonly attempt: number
  readonly durationMs: number
  readonly replayed: boolean
  readonly warnings: readonly string[]
  /** What a prepared effect is committed with. */
  readonly commitToken?: string
  /** Until when, as an RFC 3339 time. */
  readonly commitBy?: string
  /** As it came: an envelope in the dialect of the request, or the Call resource of a call that is still open (S8). */
  readonly body: JsonObject
  readonly status: number
}

/** Whether `got` is the answer to the call `asked`, and not a refusal before there was one. */
export function isAnswerTo(asked: JsonObject, got: Got): boolean {
  if (got.headers['writ-call-id'] !== undefined) return true
  // A dry run is known by the id that its caller chose; a refusal at the edge has one of its own.
  const id = asked.request_id ?? asked.call_id
  return asked.dry_run === true && id !== undefined && (got.body.request_id ?? got.body.call_id) === id
}

export function readCallReply(asked: JsonObject, got: Got): CallReply {
  const { body, status } = got
  if (isCallResource(body)) return { ...readResource(body), body, status }
  if (!isAnswerTo(asked, got)) {
    throw new ClientError(`the server answered with status ${status} and no call`, {
      kind: 'unexpected',
      status,
      fix: 'check that WRIT_URL names a Writ server and nothing in front of it',
    })
  }
  const callId = textOf(got.headers['writ-call-id'])
  return { ...(callId === undefined ? {} : { callId }), ...readEnvelope(body), body, status }
}

/** A call as the server keeps it, read like an answer. */
export function readResource(call: CallResource): Omit<CallReply, 'body' | 'status'> {
  const told =
    call.answer === undefined
      ? { attempt: 0, durationMs: 0, replayed: false, warnings: [] }
      : readEnvelope(call.answer)
  // The envelope is as it was told; the resource knows what became of the call since.
  return { ...told, callId: call.id, state: call.state, final: call.final, effect: call.effect }
}

function isCallResource(body: JsonObject): body is JsonObject & CallResource {
  return typeof body.id === 'string' && typeof body.state === 'string' && isJsonObject(body.tool)
}

/** Every dialect says the same with other words: what four-outcome has no field for is in its `provenance` (S6). */
function readEnvelope(body: JsonObject): Omit<CallReply, 'callId' | 'body' | 'status'> {
  const provenance = objectOf(body.provenance)
  const usage = objectOf(body.usage ?? body.metrics)
  const failure = readFailure(body)
  const effect = effectOf(body.effect ?? provenance.effect)
  const output = body.output ?? body.result
  const commitToken = textOf(body.commit_token)
  const commitBy = textOf(body.commit_by ?? provenance.commit_by)
  return {
    state:
      failure !== undefined ? stateOf(failure, effect) : effect === 'prepared' ? 'prepared' : 'succeeded',
    final: (body.final ?? provenance.final) === true,
    effect,
    ...(failure === undefined && output !== undefined ? { output } : {}),
    ...(failure === undefined ? {} : { failure }),
    attempt: numberOf(usage.attempt),
    durationMs: numberOf(usage.duration_ms),
    replayed: (body.replayed ?? provenance.replayed) === true,
    warnings: Array.isArray(body.warnings) ? body.warnings.filter((item) => typeof item === 'string') : [],
    ...(commitToken === undefined ? {} : { commitToken }),
    ...(commitBy === undefined ? {} : { commitBy }),
  }
}

function readFailure(body: JsonObject): CallFailure | undefined {
  if (!isJsonObject(body.error)) return undefined
  const details = objectOf(body.error.details)
  const id = textOf(details.failure) ?? ''
  return {
    // A newer server may know rows that this client does not.
    id: isFailureId(id) ? id : 'internal',
    message: textOf(body.error.message) ?? textOf(body.error.tool_reason) ?? 'the server gave no message',
    retryable: (body.error.retryable ?? body.status === 'retryable_error') === true,
    fix: textOf(details.fix) ?? '',
    violations: violationsOf(details),
    details,
  }
}

function effectOf(value: unknown): EffectState {
  return EFFECT_STATES.find((state) => state === value) ?? 'unknown'
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
