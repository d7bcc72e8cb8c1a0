// What our own tool peers that speak the contract answer: an envelope in, an envelope out.
import type { Json, JsonObject } from '../../util/json.ts'
import { objectOf } from '../envelope.ts'
import type { Ask, Operations } from '../operations.ts'
import { OPERATIONS, type OperationName } from '../tools.ts'

/** Undefined for one that is not offered. */
export function operationIn(request: JsonObject): OperationName | undefined {
  const named = objectOf(request.tool).operation
  return OPERATIONS.find((name) => name === named)
}

export async function answerEnvelope(
  request: JsonObject,
  operations: Operations,
  how: Pick<Ask, 'signal' | 'credentials'>,
): Promise<JsonObject> {
  const operation = operationIn(request)
  if (operation === undefined) return unsupported(request)
  const result = await operations.run({
    operation,
    input: request.input ?? null,
    key: textOf(request.idempotency_key),
    attempt: Number(request.attempt),
    traceId: textOf(objectOf(request.trace).trace_id),
    ...how,
  })
  if (result.ok) return envelope(request, { status: 'ok', output: result.output })
  const { code, message, retryable } = result.fault
  const error = { code, reason: 'tool_backend_failure', retryable: retryable ?? false, message, details: {} }
  return envelope(request, { status: 'error', error })
}

function unsupported(request: JsonObject): JsonObject {
  const message = `no operation '${String(objectOf(request.tool).operation)}'`
  const error = {
    code: 'unsupported_tool',
    reason: 'tool_unsupported',
    retryable: false,
    message,
    details: {},
  }
  return envelope(request, { status: 'error', error })
}

function envelope(request: JsonObject, outcome: JsonObject): JsonObject {
  return {
    tool_contract_version: 'v1',
    request_id: request.request_id ?? '',
    ...outcome,
    usage: { attempt: request.attempt ?? 1, duration_ms: 0 },
    trace: request.trace ?? {},
  }
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
