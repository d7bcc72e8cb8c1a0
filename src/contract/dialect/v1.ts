// The v1 dialect: seed 000, native.
import { parseDuration } from '../../util/duration.ts'
import { isJsonObject, type JsonObject, type Violation } from '../../util/json.ts'
import type { Answer } from '../answer.ts'
import type { Jitter } from '../call.ts'
import { v1StatusOf } from '../projection.ts'
import { type V1Request, V1RequestSchema } from '../schema/v1.ts'
import { CONTRACT_VERSION, isSupportedVersion } from '../version.ts'
import { findCredential } from './credential.ts'
import {
  DEFAULT_OPERATION,
  defined,
  given,
  rangeViolations,
  refuse,
  refuseCredential,
  refuseShape,
  type Seen,
  traceOf,
} from './decoding.ts'
import type { Decoded, Dialect, Mint, ToolRequest } from './dialect.ts'
import { assertHasEnvelope, commitByOf, extrasOf, traceFields, usageOf, v1ErrorOf } from './encoding.ts'
import { lazySchema } from './lazy-schema.ts'
import { createV1ReplyReader } from './v1-reply.ts'

export function createV1(): Dialect {
  const schema = lazySchema(V1RequestSchema)
  return {
    name: 'v1',
    // The native dialect takes what no other one claims: it is asked last.
    recognises: () => true,
    decode(body, mint) {
      const seen = seenIn(body)
      const version = body.tool_contract_version
      if (typeof version === 'string' && !isSupportedVersion(version)) {
        // First of all: another major may have any other shape.
        return refuse(
          'v1',
          mint,
          seen,
          'version-unsupported',
          `contract version '${version.slice(0, 32)}' is not supported`,
          {
            field: 'tool_contract_version',
            expected: CONTRACT_VERSION,
          },
        )
      }
      const credential = findCredential(body, ['input', 'input_raw', 'callback'])
      if (credential !== undefined) return refuseCredential('v1', mint, seen, credential)
      const violations = schema.check(body)
      if (violations.length > 0) return refuseShape('v1', mint, seen, violations)
      const request = body as unknown as V1Request
      const more = [
        ...rangeViolations('/tool/version', given(request.tool.version)),
        ...backoffViolations(request.runtime?.backoff),
      ]
      return more.length > 0 ? refuseShape('v1', mint, seen, more) : accept(request, mint)
    },
    encode: encodeV1,
    encodeSend: encodeV1Send,
    ...createV1ReplyReader(),
  }
}

/** From another Writ whose tool this one is: it asks for the end as well. */
const NOT_CALLED_BACK = 'callback is not used here: wait for the answer, or ask for the call'

function seenIn(body: JsonObject): Seen {
  const tool = isJsonObject(body.tool) ? body.tool : {}
  const trace = isJsonObject(body.trace) ? body.trace : {}
  return {
    idField: 'request_id',
    requestId: body.request_id,
    tool: tool.name,
    operation: tool.operation,
    namespace: body.namespace,
    traceId: trace.trace_id,
    spanId: trace.span_id,
  }
}

function accept(request: V1Request, mint: Mint): Decoded {
  const { tool, runtime = {}, auth = {} } = request
  const warnings: string[] = []
  const inputRaw = given(request.input_raw)
  if (inputRaw !== undefined && request.input !== undefined) {
    warnings.push('input_raw is not empty, so input was not used')
  }
  if (request.callback !== undefined) warnings.push(NOT_CALLED_BACK)
  if (auth.profile === 'bearer_token') warnings.push("auth.profile 'bearer_token' was read as 'bearer'")
  return {
    ok: true,
    call: {
      id: mint(),
      requestId: request.request_id,
      freshId: false,
      dialect: 'v1',
      tool: tool.name,
      operation: given(tool.operation) ?? DEFAULT_OPERATION,
      dryRun: request.dry_run ?? false,
      trace: traceOf(request.trace?.trace_id, request.trace?.span_id, mint),
      constraints: defined({
        timeoutMs: runtime.timeout_ms,
        maxAttempts: runtime.max_attempts,
        backoffMs: backoffMs(runtime.backoff),
        maxBackoffMs: runtime.max_backoff_ms,
        jitter: jitterOf(runtime.jitter),
        scopes: auth.scopes,
      }),
      claims: defined({
        capabilities: tool.capabilities,
        riskLevel: tool.risk_level,
        isolation: runtime.mode,
        authProfile: auth.profile === 'bearer_token' ? 'bearer' : auth.profile,
        secretRef: given(auth.secret_ref),
        attempt: request.attempt,
      }),
      warnings,
      ...defined({
        namespace: given(request.namespace),
        version: given(tool.version),
        input: inputRaw === undefined ? request.input : undefined,
        inputRaw,
        key: request.idempotency_key,
        deadlineUnixMs: request.deadline_unix_ms,
        saga: request.saga,
        taskId: given(request.task_id),
        agent: given(request.agent),
      }),
    },
  }
}

/** `exponential` names the curve, which is the only one there is; a duration is its first wait. */
function backoffMs(backoff: string | undefined): number | undefined {
  return backoff === undefined || backoff === 'exponential' ? undefined : parseDuration(backoff)
}

/** The pattern of the schema lets durations through that no clock can count. */
function backoffViolations(backoff: string | undefined): readonly Violation[] {
  if (backoff === undefined || backoff === 'exponential' || parseDuration(backoff) !== undefined) return []
  return [{ path: '/runtime/backoff', message: "must be 'exponential' or a duration, such as '500ms'" }]
}

function jitterOf(jitter: boolean | Jitter | undefined): Jitter | undefined {
  if (typeof jitter !== 'boolean') return jitter
  return jitter ? 'full' : 'none'
}

export function encodeV1(answer: Answer): JsonObject {
  assertHasEnvelope(answer)
  const { failure, tool } = answer
  return {
    tool_contract_version: CONTRACT_VERSION,
    request_id: answer.requestId,
    status: v1StatusOf(answer),
    ...(failure === undefined ? { output: answer.output ?? null } : { error: v1ErrorOf(answer, failure) }),
    usage: usageOf(answer.usage),
    trace: traceFields(answer),
    effect: answer.effect,
    final: answer.final,
    replayed: answer.replayed,
    ...extrasOf(answer),
    ...commitByOf(answer),
    provenance: {
      call_id: answer.callId,
      tool_id: tool.name,
      operation: tool.operation,
      ...(tool.version === undefined ? {} : { tool_version: tool.version }),
      ...(tool.digest === undefined ? {} : { digest: tool.digest }),
      ...(answer.saga === undefined ? {} : { saga: answer.saga }),
    },
  }
}

function encodeV1Send(request: ToolRequest): JsonObject {
  const { tool } = request
  return {
    tool_contract_version: CONTRACT_VERSION,
    request_id: request.requestId,
    ...(request.taskId === undefined ? {} : { task_id: request.taskId }),
    namespace: request.namespace,
    ...(request.agent === undefined ? {} : { agent: request.agent }),
    tool: {
      name: tool.name,
      operation: tool.operation,
      version: tool.version,
      capabilities: tool.capabilities,
      risk_level: tool.riskLevel,
    },
    ...(request.input === undefined ? {} : { input: request.input }),
    runtime: { mode: request.isolation, timeout_ms: Math.max(1, Math.floor(request.timeoutMs)) },
    trace: { trace_id: request.trace.traceId, span_id: request.trace.spanId },
    attempt: request.attempt,
    idempotency_key: request.key,
    deadline_unix_ms: request.deadlineUnixMs,
    ...(request.callback === undefined ? {} : { callback: request.callback }),
  }
}
