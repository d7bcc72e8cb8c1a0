// The four-outcome envelopes: seed 004 section 7, field by field.
//
// The only differences from those documents: an `$id` and a `title` are added, and the references to the tool's own
// `input.json` and `output.json` are replaced by the schema that accepts everything. The tool's schemas are checked
// where the tool is known, in the pipeline. test/contract/schema/four-outcome.test.ts holds the two equal.
import Type from 'typebox'
import { DRAFT } from './common.ts'

export const FOUR_OUTCOME_STATUSES = [
  'success',
  'retryable_error',
  'terminal_error',
  'invalid_request',
] as const

/** This dialect's own cap on `timeout_ms`; the others have none (S6). */
export const FOUR_OUTCOME_TIMEOUT_MAX_MS = 600_000

/** Section 8.1 gives the shape; section 7 only says that it is an object. */
export interface FourOutcomeRetryPolicy {
  max_attempts: number
  base_ms: number
  cap_ms: number
  jitter: 'none' | 'full'
}

interface FourOutcomeError {
  code: string
  message: string
  details?: Record<string, unknown>
}

const strings = Type.Array(Type.String())

const FourOutcomeContextSchema = Type.Object({
  actor_id: Type.String(),
  scopes: Type.Optional(strings),
  trace_id: Type.String({ format: 'uuid' }),
  parent_span_id: Type.Optional(Type.String()),
  locale: Type.Optional(Type.String()),
  timezone: Type.String(),
  clock: Type.Optional(Type.Enum(['monotonic', 'wall'], { type: 'string' })),
  env: Type.Enum(['prod', 'staging', 'dev'], { type: 'string' }),
})

const FourOutcomeConstraintsSchema = Type.Object({
  timeout_ms: Type.Integer({ minimum: 1, maximum: FOUR_OUTCOME_TIMEOUT_MAX_MS }),
  deadline_unix_ms: Type.Integer({ minimum: 0 }),
  idempotency_key: Type.String({ minLength: 16 }),
  memory_mb_limit: Type.Optional(Type.Integer({ minimum: 16 })),
  net_allowlist: Type.Optional(strings),
  retry_policy: Type.Optional(Type.Unsafe<FourOutcomeRetryPolicy>({ type: 'object' })),
})

export const FourOutcomeRequestSchema = Type.Object(
  {
    call_id: Type.String({ format: 'uuid' }),
    tool_id: Type.String({ pattern: '^[a-z0-9._-]+$' }),
    tool_version: Type.String(),
    fn: Type.String(),
    input: Type.Unknown(),
    context: FourOutcomeContextSchema,
    constraints: FourOutcomeConstraintsSchema,
    provenance: Type.Optional(Type.Unsafe<Record<string, unknown>>({ type: 'object' })),
    dry_run: Type.Optional(Type.Boolean()),
  },
  {
    additionalProperties: false,
    $schema: DRAFT,
    $id: 'https://writ.dev/schema/four-outcome/request.json',
    title: 'Tool request, four-outcome',
  },
)
export type FourOutcomeRequest = Type.Static<typeof FourOutcomeRequestSchema>

export const FourOutcomeResponseSchema = Type.Object(
  {
    call_id: Type.String({ format: 'uuid' }),
    status: Type.Enum(FOUR_OUTCOME_STATUSES, { type: 'string' }),
    output: Type.Optional(Type.Unknown()),
    error: Type.Optional(Type.Unsafe<FourOutcomeError>({ type: 'object' })),
    side_effects: Type.Optional(Type.Array(Type.Unsafe<Record<string, unknown>>({ type: 'object' }))),
    metrics: Type.Unsafe<{ duration_ms: number; cpu_ms?: number; memory_peak_mb?: number }>({
      type: 'object',
      required: ['duration_ms'],
      properties: { duration_ms: { type: 'integer' } },
    }),
    provenance: Type.Unsafe<{ tool_id: string; tool_version: string; digest?: string }>({
      type: 'object',
      required: ['tool_id', 'tool_version'],
    }),
    warnings: Type.Optional(strings),
    commit_token: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'] })),
  },
  {
    additionalProperties: false,
    $schema: DRAFT,
    $id: 'https://writ.dev/schema/four-outcome/response.json',
    title: 'Tool response, four-outcome',
  },
)
export type FourOutcomeResponse = Type.Static<typeof FourOutcomeResponseSchema>

/** What `retry_policy` may hold. A field we do not know would be a control that nobody enforces (S33). */
export const FourOutcomeRetryPolicySchema = Type.Object(
  {
    max_attempts: Type.Optional(Type.Integer({ minimum: 1 })),
    base_ms: Type.Optional(Type.Integer({ minimum: 0 })),
    cap_ms: Type.Optional(Type.Integer({ minimum: 0 })),
    jitter: Type.Optional(Type.Enum(['none', 'full'], { type: 'string' })),
  },
  {
    additionalProperties: false,
    $schema: DRAFT,
    $id: 'https://writ.dev/schema/four-outcome/retry-policy.json',
    title: 'Retry policy, four-outcome',
  },
)
