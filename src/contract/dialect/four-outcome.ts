// The four-outcome dialect: seed 004 sections 2 and 7. Its answers always validate against 004's response schema (S6).
import { didYouMean } from '../../util/did-you-mean.ts'
import { isJsonObject, type Json, type JsonObject, type Violation } from '../../util/json.ts'
import { KEY_MAX_LENGTH } from '../schema/common.ts'
import {
  type FourOutcomeRequest,
  FourOutcomeRequestSchema,
  FourOutcomeRetryPolicySchema,
} from '../schema/four-outcome.ts'
import { findCredential } from './credential.ts'
import {
  DEFAULT_OPERATION,
  defined,
  given,
  isId,
  rangeViolations,
  refuse,
  refuseCredential,
  refuseShape,
  type Seen,
  traceOf,
} from './decoding.ts'
import type { Decoded, Dialect, Mint } from './dialect.ts'
import { encodeFourOutcome, encodeFourOutcomeSend } from './four-outcome-encoding.ts'
import { createFourOutcomeReplyReader } from './four-outcome-reply.ts'
import { lazySchema } from './lazy-schema.ts'

const CONSTRAINTS: ReadonlySet<string> = new Set(
  Object.keys(FourOutcomeRequestSchema.properties.constraints.properties),
)

export function createFourOutcome(): Dialect {
  const schema = lazySchema(FourOutcomeRequestSchema)
  const retryPolicy = lazySchema(FourOutcomeRetryPolicySchema)

  /** What 004's schema leaves open and a runtime must not: each would be read wrongly or not at all. */
  const deeper = (request: FourOutcomeRequest): readonly Violation[] => {
    const { constraints, context } = request
    const policy = constraints.retry_policy
    return [
      ...rangeViolations('/tool_version', request.tool_version),
      ...(policy === undefined ? [] : retryPolicy.check(policy as unknown as Json)).map(
        ({ path, message }) => ({
          path: `/constraints/retry_policy${path}`,
          message,
        }),
      ),
      ...(constraints.idempotency_key.length > KEY_MAX_LENGTH
        ? [
            {
              path: '/constraints/idempotency_key',
              message: `must have at most ${KEY_MAX_LENGTH} characters`,
            },
          ]
        : []),
      ...(given(context.parent_span_id) === undefined || isId(context.parent_span_id)
        ? []
        : [{ path: '/context/parent_span_id', message: 'must be an id of at most 128 characters' }]),
      ...(request.fn.length > 256 ? [{ path: '/fn', message: 'must have at most 256 characters' }] : []),
      ...(request.tool_id.length > 253
        ? [{ path: '/tool_id', message: 'must have at most 253 characters' }]
        : []),
    ]
  }

  return {
    name: 'four-outcome',
    recognises(body) {
      if ('tool_contract_version' in body) return false
      if ('call_id' in body || 'tool_id' in body || 'fn' in body) return true
      return 'constraints' in body && !('tool' in body)
    },
    decode(body, mint) {
      const context = isJsonObject(body.context) ? body.context : {}
      const seen: Seen = {
        idField: 'call_id',
        requestId: body.call_id,
        tool: body.tool_id,
        operation: body.fn,
        traceId: context.trace_id,
        spanId: context.parent_span_id,
      }
      const credential = findCredential(body, ['input'])
      if (credential !== undefined) return refuseCredential('four-outcome', mint, seen, credential)
      const violations = schema.check(body)
      if (violations.length > 0) return refuseShape('four-outcome', mint, seen, violations)
      const request = body as unknown as FourOutcomeRequest
      const more = deeper(request)
      if (more.length > 0) return refuseShape('four-outcome', mint, seen, more)
      return refuseUnknownConstraint(request, seen, mint) ?? accept(request, mint)
    },
    encode: encodeFourOutcome,
    encodeSend: encodeFourOutcomeSend,
    ...createFourOutcomeReplyReader(),
  }
}

/** 004 leaves `constraints` open, but a constraint that nobody enforces refuses the call (S33). */
function refuseUnknownConstraint(request: FourOutcomeRequest, seen: Seen, mint: Mint): Decoded | undefined {
  const unknown = Object.keys(request.constraints).find((name) => !CONSTRAINTS.has(name))
  if (unknown === undefined) return undefined
  const close = didYouMean(unknown, CONSTRAINTS)
  const hint = close === undefined ? '' : `; did you mean '${close}'?`
  const path = `/constraints/${unknown.slice(0, 64)}`
  return refuse(
    'four-outcome',
    mint,
    seen,
    'control-unavailable',
    `the constraint at ${path} is not known${hint}`,
    {
      path,
    },
  )
}

function accept(request: FourOutcomeRequest, mint: Mint): Decoded {
  const { context, constraints } = request
  const retry = constraints.retry_policy
  // Kept with the call, because 004's tools are told the same again. Who asks, and in which trace, is for us to say.
  const { actor_id, trace_id: _trace, parent_span_id: _span, ...said } = context
  const echo = { context: said as JsonObject, provenance: (request.provenance ?? {}) as JsonObject }
  return {
    ok: true,
    call: {
      id: mint(),
      requestId: request.call_id,
      freshId: false,
      dialect: 'four-outcome',
      tool: request.tool_id,
      operation: given(request.fn) ?? DEFAULT_OPERATION,
      input: request.input as Json,
      dryRun: request.dry_run ?? false,
      key: constraints.idempotency_key,
      deadlineUnixMs: constraints.deadline_unix_ms,
      trace: traceOf(context.trace_id, context.parent_span_id, mint),
      constraints: defined({
        timeoutMs: constraints.timeout_ms,
        maxAttempts: retry?.max_attempts,
        backoffMs: retry?.base_ms,
        maxBackoffMs: retry?.cap_ms,
        jitter: retry?.jitter,
        memoryMb: constraints.memory_mb_limit,
        netAllowlist: constraints.net_allowlist,
        scopes: context.scopes,
      }),
      claims: { actor: actor_id },
      echo,
      warnings: [],
      ...defined({ version: given(request.tool_version) }),
    },
  }
}
