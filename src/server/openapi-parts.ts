// The pieces that the routes describe themselves with in the OpenAPI document.
import Type from 'typebox'
import { DECISIONS } from '../contract/decision.ts'
import { SCHEMAS, type SchemaName } from '../contract/schema/registry.ts'
import { KINDS } from '../resource/kinds.ts'
import type { Json, JsonObject } from '../util/json.ts'
import { EFFECT_SCHEMAS } from './effect-schema.ts'
import { GOVERNANCE_SCHEMAS, GoverningSchema } from './governance-schema.ts'
import { IDENTITY_SCHEMAS } from './identity-schema.ts'
import { MCP_SCHEMAS } from './mcp-schema.ts'
import { SECRET_SCHEMAS } from './secret-schema.ts'

/** Shapes that only this API has. */
const DiffEntrySchema = Type.Object(
  {
    kind: Type.String(),
    namespace: Type.String(),
    name: Type.String(),
    version: Type.String(),
    action: Type.Enum(['create', 'update', 'unchanged']),
    changes: Type.Array(
      Type.Object({
        op: Type.Enum(['add', 'remove', 'change']),
        path: Type.String({ description: 'As people write it: spec.runtime.timeout' }),
        from: Type.Optional(Type.Unsafe<Json>({})),
        to: Type.Optional(Type.Unsafe<Json>({})),
      }),
    ),
  },
  { title: 'Difference', description: 'One resource, and what apply does to it.' },
)

const ProblemSchema = Type.Object(
  {
    file: Type.String(),
    line: Type.Integer({ minimum: 1 }),
    column: Type.Integer({ minimum: 1 }),
    inside: Type.Optional(
      Type.Object(
        { line: Type.Integer({ minimum: 1 }), column: Type.Integer({ minimum: 1 }) },
        { description: 'Where inside the text at `path`, such as Cedar.' },
      ),
    ),
    path: Type.String({ description: 'As people write it: spec.approval_triggers[0].op' }),
    message: Type.String(),
    fix: Type.Optional(Type.String()),
    severity: Type.Enum(['error', 'warning']),
  },
  { title: 'Problem', description: 'What is wrong with a manifest, where, and how to mend it.' },
)

const ResourceSchema = Type.Object(
  {
    apiVersion: Type.String(),
    kind: Type.String(),
    metadata: Type.Object(
      {
        name: Type.String(),
        namespace: Type.String(),
        resourceVersion: Type.Optional(
          Type.Integer({ description: 'Changes with every write. Send it back to change what was read.' }),
        ),
        generation: Type.Optional(Type.Integer({ description: 'Changes when the spec changes.' })),
        createdAt: Type.Optional(Type.String({ format: 'date-time' })),
        updatedAt: Type.Optional(Type.String({ format: 'date-time' })),
      },
      { description: 'A tool of the program itself has a name and a namespace only.' },
    ),
    spec: Type.Unsafe<JsonObject>({ type: 'object', description: 'As declared, in canonical field names.' }),
    status: Type.Object({ digest: Type.String({ description: 'What calls are pinned to.' }) }),
  },
  { title: 'Resource' },
)

const ApplyResultSchema = Type.Object(
  {
    ok: Type.Boolean({ description: 'False: nothing was written.' }),
    dry_run: Type.Boolean(),
    diff: Type.Array(DiffEntrySchema),
    problems: Type.Array(ProblemSchema),
    resources: Type.Array(ResourceSchema),
  },
  { title: 'Apply result' },
)

const ExplanationSchema = Type.Object(
  {
    decision: Type.Enum([...DECISIONS, 'error']),
    changes: Type.Array(Type.String(), {
      description: 'What would have to change for the call to be sent at once, one sentence each.',
    }),
    governing: Type.Optional(GoverningSchema),
    sends: Type.Optional(Type.Unsafe<Json>({ description: 'What would be sent, as policy leaves it.' })),
    stages: Type.Array(
      Type.Object({
        stage: Type.String(),
        verdict: Type.Enum(['ok', 'end', 'suspend', 'not-reached']),
        reason: Type.String(),
        details: Type.Unsafe<JsonObject>({ type: 'object' }),
      }),
    ),
    error: Type.Optional(
      Type.Unsafe<JsonObject>({
        type: 'object',
        description: 'What the caller would be told, as `error` in v1.',
      }),
    ),
  },
  { title: 'Explanation' },
)

const HealthSchema = Type.Object(
  {
    ready: Type.Boolean(),
    reasons: Type.Array(Type.String(), { description: 'Why it is not ready.' }),
    checks: Type.Unsafe<JsonObject>({ type: 'object', additionalProperties: true }),
  },
  { title: 'Readiness' },
)

const CallListSchema = Type.Object(
  {
    calls: Type.Array(Type.Unsafe<JsonObject>({ $ref: '#/components/schemas/call' })),
    next_cursor: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'null on the last page.',
    }),
  },
  { title: 'Page of calls' },
)

const AuditHeadSchema = Type.Object(
  {
    kind: Type.Literal('checkpoint'),
    number: Type.Integer({ minimum: 1 }),
    at: Type.Number({ description: 'Epoch milliseconds.' }),
    hash: Type.String({ description: 'SHA-256 of `body`, in hex.' }),
    key_id: Type.String({ description: 'First 16 hex digits of the SHA-256 of the public key.' }),
    signature: Type.String({ description: 'Ed25519 over `body`, in base64url.' }),
    body: Type.String({ description: 'The signed text: JSON that says where every chain ended.' }),
    public_key: Type.String({ description: 'DER (SPKI) in base64.' }),
  },
  { title: 'Head of the evidence' },
)

const OWN = {
  'call-list': CallListSchema,
  resource: ResourceSchema,
  'apply-result': ApplyResultSchema,
  explanation: ExplanationSchema,
  readiness: HealthSchema,
  'audit-head': AuditHeadSchema,
  ...EFFECT_SCHEMAS,
  ...IDENTITY_SCHEMAS,
  ...GOVERNANCE_SCHEMAS,
  ...SECRET_SCHEMAS,
  ...MCP_SCHEMAS,
} as const

type ComponentName = SchemaName | keyof typeof OWN | `${string}-list`

/** The lists of every kind, each under its own name. */
function listSchemas(): Readonly<Record<string, Type.TSchema>> {
  return Object.fromEntries(
    KINDS.map((kind) => [
      `${kind.singular}-list`,
      Type.Object(
        { [kind.plural.replaceAll('-', '_')]: Type.Array(ResourceSchema) },
        { title: kind.plural.replaceAll('-', ' ') },
      ),
    ]),
  )
}

/** Every schema by name. `$id` is left out: inside one document the name is the address. */
export function componentSchemas(): JsonObject {
  const schemas: Record<string, JsonObject> = {}
  for (const [name, schema] of Object.entries({ ...SCHEMAS, ...OWN, ...listSchemas() })) {
    const { $id: _, $schema: __, ...rest } = schema as unknown as JsonObject
    schemas[name] = rest
  }
  // TypeBox keeps non-enumerable marks on its schemas; the document is plain JSON.
  return JSON.parse(JSON.stringify(schemas)) as JsonObject
}

export function ref(name: ComponentName): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}

export function json(schema: JsonObject): { content: JsonObject } {
  return { content: { 'application/json': { schema } } }
}

export function parameter(
  where: 'path' | 'query' | 'header',
  name: string,
  description: string,
  schema: JsonObject = {},
): JsonObject {
  const type = 'type' in schema ? {} : { type: 'string' }
  return { name, in: where, description, required: where === 'path', schema: { ...type, ...schema } }
}

const ENVELOPES = [ref('v1-response'), ref('legacy-response'), ref('four-outcome-response')]

/** An envelope of whichever dialect was asked in. */
export function answers(description: string): JsonObject {
  return {
    description,
    headers: {
      'Writ-Call-Id': {
        description: "Writ's own id of the call.",
        schema: { type: 'string', format: 'uuid' },
      },
    },
    ...json({ anyOf: ENVELOPES }),
  }
}

export const CALL_REQUEST_BODY: JsonObject = {
  required: true,
  description: 'A request in any dialect.',
  ...json({ anyOf: [ref('v1-request'), ref('legacy-request'), ref('four-outcome-request')] }),
}

export const MANIFEST_BODY: JsonObject = {
  required: true,
  description: 'A manifest.',
  content: {
    'application/yaml': { schema: { type: 'string' } },
    'application/json': { schema: { type: 'object' } },
  },
}

/** How every route refuses. */
export const REFUSALS: JsonObject = {
  default: { description: 'A failure, as a v1 envelope.', ...json(ref('v1-response')) },
}
