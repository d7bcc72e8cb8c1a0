// The shapes of approvals, grants and freezes, for the OpenAPI document.
import Type from 'typebox'
import { APPROVAL_STATES } from '../contract/approval.ts'
import { ACTOR_KINDS } from '../contract/caller.ts'
import { DECISIONS } from '../contract/decision.ts'
import { FREEZABLE } from '../contract/freeze.ts'
import { COMPARISONS } from '../resource/resolved-tool.ts'
import type { Json } from '../util/json.ts'

const nextCursor = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  description: 'null on the last page.',
})
const time = (description: string) => Type.String({ format: 'date-time', description })
const any = (description: string) => Type.Unsafe<Json>({ description })
const LIST = Type.Array(Type.String())

const ApprovalSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid' }),
    namespace: Type.String(),
    state: Type.Enum(APPROVAL_STATES),
    call_id: Type.String({ description: 'The call that asked.' }),
    entry_id: Type.String(),
    request_id: Type.String(),
    requester: Type.Object({ actor: Type.String(), kind: Type.Enum(ACTOR_KINDS) }),
    agent: Type.Optional(Type.String({ description: 'Whom the requester spoke for.' })),
    task_id: Type.Optional(Type.String()),
    tool: Type.Object({
      name: Type.String(),
      version: Type.String(),
      digest: Type.String(),
      operation: Type.String(),
    }),
    operation_classes: LIST,
    risk_level: Type.String(),
    effect_class: Type.String(),
    read_only: Type.Boolean(),
    payload_hash: Type.String({ description: 'Of what would be sent. Another payload is not approved.' }),
    policy_version: Type.String({ description: 'Another one makes the approval stale.' }),
    limits: Type.Object({ timeout_ms: Type.Number(), max_attempts: Type.Integer() }),
    reasons: Type.Array(Type.String(), { description: 'Why somebody has to agree.' }),
    rules: Type.Array(
      Type.Object({ policy_id: Type.String(), policy_version: Type.String(), rule: Type.String() }),
    ),
    needs: Type.Array(
      Type.Object({
        role: Type.Optional(Type.String({ description: 'Absent: whoever may decide at all.' })),
        quorum: Type.Integer({ minimum: 1 }),
        escalated: Type.Optional(Type.Boolean()),
      }),
      { description: 'All of them have to be met.' },
    ),
    input: Type.Optional(any('What would be sent, with sensitive fields masked.')),
    asked: Type.Optional(any('Where policy narrowed it: what was asked for.')),
    decisions: Type.Array(
      Type.Object({
        decision: Type.Enum(['approved', 'denied']),
        decided_by: Type.String({ description: 'The authenticated identity.' }),
        kind: Type.Enum(ACTOR_KINDS),
        roles: LIST,
        at: time('When.'),
        via: Type.Enum(['api', 'link']),
        comment: Type.Optional(Type.String()),
        on_behalf_of: Type.Optional(Type.String({ description: 'Who had handed the decision over.' })),
      }),
    ),
    delegations: Type.Array(Type.Object({ from: Type.String(), to: Type.String(), at: time('When.') })),
    created_at: time('When it was asked for.'),
    expires_at: time('Nothing is decided, nor sent, after this.'),
    ended_at: Type.Optional(time('Absent while it waits.')),
    why: Type.Optional(Type.String({ description: 'Why it ended, where nobody decided it.' })),
    diff: Type.Optional(
      Type.Object(
        {
          approval_id: Type.String(),
          call_id: Type.String(),
          at: time('When that one was agreed to.'),
          changes: Type.Array(
            Type.Object({
              op: Type.Enum(['add', 'remove', 'change']),
              path: Type.String({ description: 'JSON pointer into the input.' }),
              from: Type.Optional(any('What was there.')),
              to: Type.Optional(any('What is there.')),
            }),
          ),
        },
        { description: 'Of a write: against the last call of its kind that was agreed to.' },
      ),
    ),
  },
  { title: 'Approval' },
)

const ToolApprovalSchema = Type.Object(
  {
    apiVersion: Type.String(),
    kind: Type.Literal('ToolApproval'),
    metadata: Type.Object({
      name: Type.String({ description: 'The id of the approval.' }),
      namespace: Type.String(),
      resourceVersion: Type.Integer(),
      createdAt: time('When it was asked for.'),
    }),
    spec: Type.Object({
      task_ref: Type.String({ description: 'The task; of a call without one, the call itself.' }),
      tool: Type.String(),
      operation_class: Type.Optional(Type.String({ description: 'The strictest of them.' })),
      agent: Type.String(),
      input: Type.Optional(any('With sensitive fields masked.')),
      reason: Type.String(),
      ttl: Type.String(),
    }),
    status: Type.Object({
      phase: Type.Enum(['Pending', 'Approved', 'Denied', 'Expired'], {
        description: 'Expired is also what was canceled or became stale.',
      }),
      decision: Type.Optional(Type.Enum(['approved', 'denied'])),
      decided_by: Type.Optional(Type.String()),
      decided_at: Type.Optional(time('When.')),
      comment: Type.Optional(Type.String()),
      expires_at: time('When it expires.'),
    }),
  },
  { title: 'ToolApproval', description: 'An approval in the shape of a resource.' },
)

const GrantSchema = Type.Object(
  {
    id: Type.String(),
    namespace: Type.String(),
    tool: Type.Object({ name: Type.String(), digest: Type.String(), operation: Type.String() }),
    when: Type.Array(
      Type.Object({
        field: Type.String(),
        op: Type.Enum(COMPARISONS),
        value: Type.Optional(any('What it is compared with.')),
      }),
    ),
    caller: Type.Optional(Type.String()),
    role: Type.Optional(Type.String()),
    by: Type.String({ description: 'Who agreed.' }),
    created_at: time('Since when.'),
    expires_at: time('Until when.'),
    max_uses: Type.Optional(Type.Integer()),
    uses: Type.Optional(Type.Integer({ description: 'How often it was used, where that is counted.' })),
    reason: Type.Optional(Type.String()),
  },
  { title: 'Grant' },
)

const FreezeSchema = Type.Object(
  {
    what: Type.Enum(FREEZABLE),
    name: Type.Optional(Type.String({ description: 'Of the tool or the caller.' })),
    namespace: Type.String({ description: '`*` where it holds everywhere.' }),
    reason: Type.String(),
    by: Type.String(),
    at: time('Since when.'),
    in_flight: Type.Enum(['finish', 'end']),
  },
  { title: 'Freeze' },
)

const RULE = { policy_id: Type.String(), policy_version: Type.String(), rule: Type.String() }

/** What decided about a call, as an explanation tells it. */
export const GoverningSchema = Type.Object(
  {
    decision: Type.Enum(DECISIONS),
    policy_version: Type.String(),
    matched: Type.Array(
      Type.Object({
        ...RULE,
        decision: Type.Enum(DECISIONS),
        code: Type.String({ description: 'A constant that programs can rely on.' }),
        reason: Type.String(),
        monitored: Type.Optional(Type.Boolean({ description: 'It only says what it would have done.' })),
      }),
    ),
    near: Type.Array(
      Type.Object({
        ...RULE,
        decision: Type.Enum(DECISIONS),
        missed: Type.String({ description: 'What would have to change for it to match.' }),
      }),
      { description: 'Rules that were one clause away from matching.' },
    ),
    near_unchecked: Type.Optional(
      Type.Integer({ description: 'Cedar policies that were not looked at for `near`: there are too many.' }),
    ),
    needs: ApprovalSchema.properties.needs,
    narrowed: Type.Array(
      Type.Object({ ...RULE, kind: Type.Enum(['clamp', 'drop', 'dry_run']), field: Type.String() }),
    ),
    budgets: Type.Array(
      Type.Object({
        budget: Type.String(),
        amount: Type.Number(),
        max: Type.Number(),
        resets_at: time('When its period ends.'),
      }),
    ),
  },
  { title: 'What decided' },
)

export const GOVERNANCE_SCHEMAS = {
  approval: ApprovalSchema,
  'approval-list': Type.Object(
    { approvals: Type.Array(ApprovalSchema), next_cursor: nextCursor },
    { title: 'Page of approvals' },
  ),
  'tool-approval': ToolApprovalSchema,
  'tool-approval-list': Type.Object(
    { tool_approvals: Type.Array(ToolApprovalSchema), next_cursor: nextCursor },
    { title: 'Page of ToolApprovals' },
  ),
  grant: GrantSchema,
  'grant-list': Type.Object({ grants: Type.Array(GrantSchema) }, { title: 'Grants' }),
  freeze: FreezeSchema,
  'freeze-list': Type.Object({ freezes: Type.Array(FreezeSchema) }, { title: 'Freezes' }),
} as const
