// The v1 envelopes: seed 000, every field, and the additive ones of S1.
import Type from 'typebox'
import { JITTERS } from '../call.ts'
import { EFFECT_STATES } from '../effect.ts'
import {
  anyJson,
  anyObject,
  DRAFT,
  id,
  KEY_MAX_LENGTH,
  oneOf,
  optionalId,
  optionalText,
  RANGE_MAX_LENGTH,
  texts,
  UsageSchema,
  whole,
} from './common.ts'

const closed = { additionalProperties: false } as const

/** The isolation modes of seed 002, from the weakest boundary to the strongest. */
export const V1_MODES = ['none', 'wasm', 'sandboxed', 'container', 'kubernetes'] as const

/** `bearer_token` is read as `bearer`, with a warning: seed 003 spells it so. */
export const V1_AUTH_PROFILES = [
  'bearer',
  'api_key_header',
  'basic',
  'oauth2_client_credentials',
  'bearer_token',
] as const

export const V1_STATUSES = ['ok', 'error', 'denied'] as const

const V1ToolSchema = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 253, description: 'The name of the tool.' }),
    operation: optionalText('The operation of the tool; `invoke` when absent.'),
    version: Type.Optional(
      Type.String({
        maxLength: RANGE_MAX_LENGTH,
        description: 'A semver range; the highest live version when absent.',
      }),
    ),
    capabilities: texts('A claim about the tool: compared, never trusted.'),
    risk_level: Type.Optional(
      oneOf(['low', 'medium', 'high', 'critical'], 'A claim about the tool: compared, never trusted.'),
    ),
  },
  { ...closed, description: 'What is called.' },
)

const V1RuntimeSchema = Type.Object(
  {
    mode: Type.Optional(
      oneOf(V1_MODES, 'The isolation the caller expects; a weaker one than the tool declares is refused.'),
    ),
    timeout_ms: Type.Optional(whole(1, 'Bounds one attempt.')),
    max_attempts: Type.Optional(whole(1, 'At most so many sends.')),
    backoff: Type.Optional(
      Type.String({
        pattern: '^(exponential|0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$',
        maxLength: 64,
        description: '`exponential`, or the first wait as a duration such as `500ms`; it doubles each time.',
      }),
    ),
    max_backoff_ms: Type.Optional(whole(0, 'No wait between two attempts is longer.')),
    jitter: Type.Optional(
      oneOf(
        [true, false, ...JITTERS],
        '`true` is `full`, `false` is `none`; `equal` keeps half of each wait.',
      ),
    ),
  },
  { ...closed, description: 'What the caller asks of the runtime. It only narrows what the tool declares.' },
)

const V1AuthSchema = Type.Object(
  {
    profile: Type.Optional(oneOf(V1_AUTH_PROFILES, 'Another one than the tool declares is refused.')),
    secret_ref: optionalText('The name of a secret, never its value.'),
    scopes: texts('At most these scopes are used.'),
  },
  { ...closed, description: 'A claim about how the tool is authenticated. It never carries a credential.' },
)

const V1TraceRequestSchema = Type.Object(
  {
    trace_id: optionalId('Kept as given; minted when absent.'),
    span_id: optionalId('The span of the caller.'),
  },
  closed,
)

const V1CallbackSchema = Type.Object(
  {
    url: Type.String({ maxLength: 2048, description: 'Where the end can be reported with POST.' }),
    token: Type.String({
      maxLength: 256,
      writeOnly: true,
      description: 'The key of the HMAC that signs the report. For this call only.',
    }),
  },
  {
    ...closed,
    description: 'To a tool that may take its time: how to report the end. From a caller it is not used.',
  },
)

export const V1RequestSchema = Type.Object(
  {
    tool_contract_version: Type.Optional(
      Type.String({
        pattern: '^[vV]1(\\.[0-9]{1,9})?$',
        default: 'v1',
        description: '`v1` or `v1.<n>`.',
      }),
    ),
    request_id: id('Chosen by the caller, echoed in the response; the delivery key where no other is given.'),
    task_id: optionalText('The task this call belongs to.'),
    namespace: optionalText('The namespace of the tool; that of the caller when absent.'),
    agent: optionalText('The agent that asks.'),
    tool: V1ToolSchema,
    input: Type.Optional(anyJson('Any JSON that the input schema of the operation accepts.')),
    input_raw: Type.Optional(
      Type.String({ description: 'Text that wins over `input` when it is not empty.' }),
    ),
    runtime: Type.Optional(V1RuntimeSchema),
    auth: Type.Optional(V1AuthSchema),
    trace: Type.Optional(V1TraceRequestSchema),
    attempt: Type.Optional(
      whole(
        0,
        'To a tool: the number of this send, 1 for the first. From a caller: a claim; the ledger counts.',
      ),
    ),
    idempotency_key: Type.Optional(
      Type.String({ minLength: 1, maxLength: KEY_MAX_LENGTH, description: 'One per intended effect.' }),
    ),
    deadline_unix_ms: Type.Optional(whole(0, 'When the caller stops listening, in epoch milliseconds.')),
    dry_run: Type.Optional(
      Type.Boolean({ description: 'Says what every stage would answer; sends nothing.' }),
    ),
    saga: Type.Optional(id('The saga this call is a member of.')),
    callback: Type.Optional(V1CallbackSchema),
  },
  {
    ...closed,
    $schema: DRAFT,
    $id: 'https://writ.dev/schema/v1/request.json',
    title: 'Tool execution request, v1',
  },
)
export type V1Request = Type.Static<typeof V1RequestSchema>

const V1ErrorSchema = Type.Object(
  {
    code: Type.String({ description: 'The canonical code.' }),
    reason: Type.String({ description: 'The canonical reason: a constant.' }),
    retryable: Type.Boolean({ description: 'The safe answer for this very call.' }),
    message: Type.String({ description: 'For people.' }),
    details: anyObject('`failure`, `fix` and `effect` always, and what is known of this case.'),
  },
  { description: 'Present exactly when `status` is not `ok`.' },
)

/** Open on purpose: a later minor version adds fields, and a reader of this one must not break on them. */
export const V1ResponseSchema = Type.Object(
  {
    tool_contract_version: Type.String({ pattern: '^[vV]1(\\.[0-9]{1,9})?$' }),
    request_id: Type.String({
      minLength: 1,
      description: 'As the caller sent it; minted where it was not valid.',
    }),
    status: oneOf(V1_STATUSES, 'How the call ended, or that it waits for approval.'),
    output: Type.Optional(anyJson('Present exactly when `status` is `ok`.')),
    error: Type.Optional(V1ErrorSchema),
    usage: UsageSchema,
    trace: Type.Object({ trace_id: Type.String(), span_id: Type.String() }),
    effect: oneOf(EFFECT_STATES, 'What is known of the effect.'),
    final: Type.Boolean({ description: 'False while something is still to be done or found out.' }),
    replayed: Type.Boolean({ description: 'True when the answer was kept from an earlier run.' }),
    commit_token: Type.Optional(Type.String({ description: 'Commits or rolls back what was prepared.' })),
    commit_by: Type.Optional(
      Type.String({ format: 'date-time', description: 'What is prepared is rolled back then.' }),
    ),
    side_effects: Type.Optional(Type.Array(anyObject('One effect as the tool reports it.'))),
    warnings: Type.Optional(Type.Array(Type.String())),
    provenance: Type.Object({
      call_id: Type.String({ format: 'uuid', description: "Writ's own id of the call." }),
      tool_id: Type.String(),
      operation: Type.String(),
      tool_version: Type.Optional(Type.String()),
      digest: Type.Optional(Type.String()),
      saga: Type.Optional(Type.String()),
    }),
  },
  {
    $schema: DRAFT,
    $id: 'https://writ.dev/schema/v1/response.json',
    title: 'Tool execution response, v1',
  },
)
export type V1Response = Type.Static<typeof V1ResponseSchema>
