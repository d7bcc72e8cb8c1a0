// The legacy dialect: seed 002's short envelope. Tools and callers written to that page keep working.
import type { JsonObject } from '../../util/json.ts'
import type { Answer } from '../answer.ts'
import { type LegacyRequest, LegacyRequestSchema } from '../schema/legacy.ts'
import { findCredential } from './credential.ts'
import {
  DEFAULT_OPERATION,
  defined,
  given,
  refuseCredential,
  refuseShape,
  type Seen,
  traceOf,
} from './decoding.ts'
import type { Decoded, Dialect, Mint, ToolRequest } from './dialect.ts'
import { assertHasEnvelope, commitByOf, extrasOf, traceFields, usageOf, v1ErrorOf } from './encoding.ts'
import { lazySchema } from './lazy-schema.ts'
import { createLegacyReplyReader } from './legacy-reply.ts'

export function createLegacy(): Dialect {
  const schema = lazySchema(LegacyRequestSchema)
  return {
    name: 'legacy',
    recognises(body) {
      // The version field exists in v1 only: with it, the rest is a mistake in a v1 request.
      if ('tool_contract_version' in body) return false
      return typeof body.tool === 'string' || 'action' in body || 'parameters' in body
    },
    decode(body, mint) {
      const seen: Seen = {
        idField: 'request_id',
        requestId: body.request_id,
        tool: body.tool,
        operation: body.action,
      }
      const credential = findCredential(body, ['parameters'])
      if (credential !== undefined) return refuseCredential('legacy', mint, seen, credential)
      const violations = schema.check(body)
      if (violations.length > 0) return refuseShape('legacy', mint, seen, violations)
      return accept(body as unknown as LegacyRequest, mint)
    },
    encode: encodeLegacy,
    encodeSend: encodeLegacySend,
    ...createLegacyReplyReader(),
  }
}

function accept(request: LegacyRequest, mint: Mint): Decoded {
  const profile = given(request.auth?.type)
  return {
    ok: true,
    call: {
      id: mint(),
      requestId: request.request_id,
      freshId: false,
      dialect: 'legacy',
      tool: request.tool,
      operation: given(request.action) ?? DEFAULT_OPERATION,
      dryRun: false,
      trace: traceOf(undefined, undefined, mint),
      constraints: {},
      claims: defined({
        authProfile: profile === 'bearer_token' ? 'bearer' : profile,
        attempt: request.context?.attempt,
      }),
      warnings: profile === 'bearer_token' ? ["auth.type 'bearer_token' was read as 'bearer'"] : [],
      ...defined({
        input: request.parameters,
        key: request.idempotency_key,
        taskId: given(request.context?.task),
        agent: given(request.context?.agent),
      }),
    },
  }
}

/** `tool_reason` is for people here; everywhere else the reason is a constant (S7). */
export function encodeLegacy(answer: Answer): JsonObject {
  assertHasEnvelope(answer)
  const { failure } = answer
  const error = failure === undefined ? undefined : v1ErrorOf(answer, failure)
  return {
    request_id: answer.requestId,
    status: error === undefined ? 'success' : 'error',
    ...(error === undefined
      ? { result: answer.output ?? null }
      : {
          error: {
            tool_code: error.code,
            tool_reason: error.message,
            retryable: error.retryable,
            details: error.details,
          },
        }),
    effect: answer.effect,
    final: answer.final,
    replayed: answer.replayed,
    usage: usageOf(answer.usage),
    trace: traceFields(answer),
    ...extrasOf(answer),
    ...commitByOf(answer),
  }
}

/** The old shape carries the token itself; ours never does: the transport puts it where the tool's profile says. */
function encodeLegacySend(request: ToolRequest): JsonObject {
  return {
    request_id: request.requestId,
    tool: request.tool.name,
    action: request.tool.operation,
    ...(request.input === undefined ? {} : { parameters: request.input }),
    context: {
      ...(request.taskId === undefined ? {} : { task: request.taskId }),
      ...(request.agent === undefined ? {} : { agent: request.agent }),
      attempt: request.attempt,
    },
    idempotency_key: request.key,
    ...(request.callback === undefined ? {} : { callback: request.callback }),
  }
}
