// Kind Tool: the declared shape, in canonical field names. Other spellings are turned into these before it is checked.
import Type from 'typebox'
import { DIALECT_NAMES, JITTERS } from '../contract/call.ts'
import type { Json, JsonObject } from '../util/json.ts'
import { documentSchema } from './document.ts'
import { EffectSchema } from './effect-schema.ts'
import { CliSchema, WasmSchema } from './local-code-schema.ts'
import {
  AUTH_PROFILES,
  COMPARISONS,
  DATA_CLASSIFICATIONS,
  ISOLATION_MODES,
  OPERATION_CLASSES,
  RISK_LEVELS,
  TOOL_TYPES,
} from './resolved-tool.ts'
import { ApprovalSchema, closed, Duration, Names, Size } from './schema-part.ts'

const InlineOrFile = Type.Union(
  [Type.Unsafe<JsonObject>({ type: 'object' }), Type.String({ minLength: 1 })],
  {
    expected: 'a JSON Schema, or the name of a file that holds one',
  },
)

const Retry = {
  max_attempts: Type.Optional(Type.Integer()),
  backoff: Type.Optional(Duration),
  max_backoff: Type.Optional(Duration),
  jitter: Type.Optional(Type.Enum(JITTERS)),
}

const Rate = Type.Union(
  [Type.String(), Type.Object({ max: Type.Integer({ minimum: 1 }), per: Duration }, closed)],
  {
    expected: 'a rate such as 10/s or 100/m, or {max, per}',
    notation: 'rate',
  },
)

const limits = {
  timeout_max: Type.Optional(Duration),
  memory: Type.Optional(Size),
  concurrency: Type.Optional(Type.Integer({ minimum: 1 })),
  rate: Type.Optional(Rate),
  input_bytes: Type.Optional(Size),
  output_bytes: Type.Optional(Size),
}

const Errors = Type.Array(
  Type.Object(
    {
      code: Type.String({ minLength: 1 }),
      effect: Type.Optional(Type.Enum(['none', 'done', 'partial', 'unknown'])),
      retryable: Type.Optional(Type.Boolean()),
      description: Type.Optional(Type.String()),
      fix: Type.Optional(Type.String()),
    },
    closed,
  ),
)

/** Literal comparisons on the input; not an expression language. */
const Triggers = Type.Array(
  Type.Object(
    {
      field: Type.String(),
      op: Type.Enum(COMPARISONS),
      value: Type.Optional(Type.Unsafe<Json>({})),
      reason: Type.Optional(Type.String()),
    },
    closed,
  ),
)

const Operation = Type.Object(
  {
    description: Type.Optional(Type.String()),
    input_schema: Type.Optional(InlineOrFile),
    output_schema: Type.Optional(InlineOrFile),
    operation_classes: Type.Optional(Type.Array(Type.Enum(OPERATION_CLASSES))),
    effect: Type.Optional(
      Type.Unsafe<Type.Static<typeof EffectSchema>>({ ...EffectSchema, sameAs: 'spec.effect' }),
    ),
    timeout: Type.Optional(Duration),
    retry: Type.Optional(Type.Object(Retry, { ...closed, sameAs: 'spec.runtime.retry' })),
    limits: Type.Optional(Type.Object(limits, { ...closed, sameAs: 'spec.limits' })),
    approval_triggers: Type.Optional(
      Type.Unsafe<Type.Static<typeof Triggers>>({ ...Triggers, sameAs: 'spec.approval_triggers' }),
    ),
    errors: Type.Optional(Type.Unsafe<Type.Static<typeof Errors>>({ ...Errors, sameAs: 'spec.errors' })),
  },
  closed,
)

const Auth = Type.Object(
  {
    profile: Type.Optional(Type.Enum(AUTH_PROFILES)),
    secretRef: Type.Optional(Type.String()),
    headerName: Type.Optional(Type.String()),
    tokenURL: Type.Optional(Type.String()),
    scopes: Type.Optional(Names),
  },
  closed,
)

/** Of a tool that was made from an McpServer: which definition of it was taken on, and what the server says by now. */
const McpPinSchema = Type.Object(
  {
    pin: Type.Integer({ minimum: 1 }),
    digest: Type.String(),
    labelled: Type.Optional(Type.Boolean()),
    title: Type.Optional(Type.String()),
    annotations: Type.Optional(Type.Unsafe<JsonObject>({ type: 'object' })),
    said: Type.Optional(Type.String()),
    gone: Type.Optional(Type.Boolean()),
    offered: Type.Optional(Type.Unsafe<JsonObject>({ type: 'object' })),
  },
  closed,
)

const Spec = Type.Object(
  {
    type: Type.Optional(Type.Enum(TOOL_TYPES)),
    endpoint: Type.Optional(Type.String()),
    description: Type.Optional(Type.String()),
    owner: Type.Optional(Type.String()),
    version: Type.Optional(Type.String()),
    digest: Type.Optional(Type.String()),
    contract: Type.Optional(Type.Enum(DIALECT_NAMES)),
    input_schema: Type.Optional(InlineOrFile),
    output_schema: Type.Optional(InlineOrFile),
    operations: Type.Optional(
      Type.Record(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$' }), Operation, {
        ...closed,
        minProperties: 1,
      }),
    ),
    capabilities: Type.Optional(Names),
    operation_classes: Type.Optional(Type.Array(Type.Enum(OPERATION_CLASSES))),
    risk_level: Type.Optional(Type.Enum(RISK_LEVELS)),
    runtime: Type.Optional(
      Type.Object(
        {
          timeout: Type.Optional(Duration),
          isolation_mode: Type.Optional(Type.Enum(ISOLATION_MODES)),
          retry: Type.Optional(Type.Object(Retry, closed)),
        },
        closed,
      ),
    ),
    auth: Type.Optional(Auth),
    cli: Type.Optional(CliSchema),
    wasm: Type.Optional(WasmSchema),
    mcp_server_ref: Type.Optional(Type.String({ minLength: 1 })),
    mcp_tool_name: Type.Optional(Type.String({ minLength: 1 })),
    mcp: Type.Optional(McpPinSchema),
    webhook: Type.Optional(Type.Object({ poll: Type.Optional(Duration) }, closed)),
    grpc: Type.Optional(Type.Object({ plaintext: Type.Optional(Type.Boolean()) }, closed)),
    http: Type.Optional(
      Type.Object(
        {
          method: Type.Optional(Type.Enum(['POST', 'PUT', 'PATCH', 'DELETE', 'GET'])),
          content_type: Type.Optional(
            Type.String({ pattern: '^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+( *;.*)?$' }),
          ),
          max_redirects: Type.Optional(Type.Integer({ minimum: 0, maximum: 10 })),
        },
        closed,
      ),
    ),
    data_classification: Type.Optional(Type.Enum(DATA_CLASSIFICATIONS)),
    permission_class: Type.Optional(Type.String()),
    approval_triggers: Type.Optional(Triggers),
    approval: Type.Optional(ApprovalSchema),
    approval_waiver: Type.Optional(Type.String({ minLength: 1 })),
    egress: Type.Optional(
      Type.Object(
        { allow: Type.Optional(Names), private: Type.Optional(Type.String({ minLength: 1 })) },
        closed,
      ),
    ),
    grants: Type.Optional(
      Type.Object(
        { fs: Type.Optional(Names), net_allowlist: Type.Optional(Names), env: Type.Optional(Names) },
        closed,
      ),
    ),
    effect: Type.Optional(EffectSchema),
    limits: Type.Optional(Type.Object(limits, closed)),
    errors: Type.Optional(
      Type.Union([Errors, Type.String({ minLength: 1 })], {
        expected: 'a list of errors, or the name of a document',
      }),
    ),
    audit: Type.Optional(Type.Enum(['default', 'strict'])),
    audit_fields: Type.Optional(Names),
    observability: Type.Optional(Type.Unsafe<JsonObject>({ type: 'object' })),
    deprecation: Type.Optional(
      Type.Object(
        {
          introduced: Type.Optional(Type.String()),
          deprecated: Type.Optional(Type.String()),
          removal: Type.Optional(Type.String()),
          replacement: Type.Optional(Type.String({ minLength: 1 })),
          compatibility: Type.Optional(Type.String()),
          affected_policies: Type.Optional(Names),
        },
        closed,
      ),
    ),
    slo: Type.Optional(
      Type.Object(
        {
          success_rate_min: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
          p95_latency_ms_max: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
        },
        closed,
      ),
    ),
    health: Type.Optional(
      Type.Object(
        { readiness: Type.Optional(Type.String()), liveness: Type.Optional(Type.String()) },
        closed,
      ),
    ),
  },
  closed,
)

export const ToolSchema = documentSchema('Tool', Spec)

export type ToolManifest = Type.Static<typeof ToolSchema>
export type ToolSpec = ToolManifest['spec']
export type OperationDeclaration = Exclude<ToolSpec['operations'], undefined>[string]
