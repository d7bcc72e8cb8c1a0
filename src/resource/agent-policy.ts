// Kind AgentPolicy: rules, Cedar policies, transforms and budgets over the calls that it is about.
import Type from 'typebox'
import { AGENT_POLICY_FIELDS } from './agent-policy-fields.ts'
import { documentSchema } from './document.ts'
import { Conditions } from './governance-part.ts'
import type { Kind } from './kind.ts'
import { resolvePolicy } from './resolve-policy.ts'
import type { ResolvedPolicy } from './resolved-governance.ts'
import { OPERATION_CLASSES, RISK_LEVELS } from './resolved-tool.ts'
import { ApprovalSchema, closed, Duration, Names } from './schema-part.ts'

const Rule = Type.Object(
  {
    tools: Type.Optional(Names),
    operations: Type.Optional(Names),
    operation_classes: Type.Optional(Type.Array(Type.Enum(OPERATION_CLASSES))),
    risk_levels: Type.Optional(Type.Array(Type.Enum(RISK_LEVELS))),
    when: Type.Optional(Conditions),
    decision: Type.Enum(['allow', 'require-approval', 'escalate', 'deny']),
    reason: Type.Optional(Type.String({ minLength: 1 })),
    retry_after: Type.Optional(Duration),
  },
  closed,
)

const Transform = Type.Object(
  {
    tools: Type.Optional(Names),
    when: Type.Optional(Conditions),
    clamp: Type.Optional(
      Type.Object(
        { field: Type.String(), min: Type.Optional(Type.Number()), max: Type.Optional(Type.Number()) },
        closed,
      ),
    ),
    drop: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
    dry_run: Type.Optional(Type.Boolean()),
  },
  closed,
)

const Budget = Type.Object(
  {
    tools: Type.Optional(Names),
    per: Type.Optional(Type.Enum(['caller', 'tool'])),
    period: Duration,
    calls: Type.Optional(Type.Boolean()),
    sum: Type.Optional(Type.String()),
    max: Type.Number(),
  },
  closed,
)

const Spec = Type.Object(
  {
    apply_mode: Type.Optional(Type.Enum(['scoped', 'global'])),
    target_agents: Type.Optional(Names),
    target_systems: Type.Optional(Names),
    target_tasks: Type.Optional(Names),
    target_tools: Type.Optional(Names),
    mode: Type.Optional(Type.Enum(['enforce', 'monitor'])),
    blocked_tools: Type.Optional(Names),
    rules: Type.Optional(Type.Array(Rule)),
    cedar: Type.Optional(Type.String({ minLength: 1 })),
    transforms: Type.Optional(Type.Array(Transform)),
    budgets: Type.Optional(Type.Array(Budget)),
    approval: Type.Optional(ApprovalSchema),
    escalate_to: Type.Optional(Type.String()),
    max_tokens_per_run: Type.Optional(Type.Integer()),
    allowed_models: Type.Optional(Names),
    max_child_depth: Type.Optional(Type.Integer()),
    max_child_tasks: Type.Optional(Type.Integer()),
  },
  closed,
)

const PolicySchema = documentSchema('AgentPolicy', Spec)
export type PolicyManifest = Type.Static<typeof PolicySchema>
export type PolicySpec = PolicyManifest['spec']

export const AGENT_POLICY: Kind<'AgentPolicy', PolicyManifest, ResolvedPolicy> = Object.freeze({
  name: 'AgentPolicy',
  singular: 'agent-policy',
  plural: 'agent-policies',
  versioned: false,
  permission: 'governance:write',
  schema: PolicySchema,
  fields: AGENT_POLICY_FIELDS,
  resolve: resolvePolicy,
} as const)
