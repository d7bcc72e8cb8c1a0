// The short envelopes of seed 002's page. Closed towards us, and only ever added to.
import Type from 'typebox'
import { EFFECT_STATES } from '../effect.ts'
import {
  anyJson,
  anyObject,
  DRAFT,
  id,
  KEY_MAX_LENGTH,
  oneOf,
  optionalText,
  UsageSchema,
  whole,
} from './common.ts'

const closed = { additionalProperties: false } as const

export const LEGACY_STATUSES = ['success', 'error'] as const

export const LegacyRequestSchema = Type.Object(
  {
    request_id: id('Chosen by the caller, echoed in the response.'),
    tool: Type.String({ minLength: 1, maxLength: 253, description: 'The name of the tool.' }),
    action: optionalText('The operation of the tool; `invoke` when absent.'),
    parameters: Type.Optional(anyJson('Any JSON that the input schema of the operation accepts.')),
    auth: Type.Optional(
      Type.Object(
        {
          type: optionalText('Another profile than the tool declares is refused.'),
          token: Type.Optional(
            Type.String({
              description: 'Part of the old shape. Refused when it is not empty.',
              writeOnly: true,
            }),
          ),
        },
        closed,
      ),
    ),
    context: Type.Optional(
      Type.Object(
        {
          task: optionalText('The task this call belongs to.'),
          agent: optionalText('The agent that asks.'),
          attempt: Type.Optional(
            whole(
              0,
              'To a tool: the number of this send, 1 for the first. From a caller: a claim; the ledger counts.',
            ),
          ),
        },
        closed,
      ),
    ),
    idempotency_key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: KEY_MAX_LENGTH,
        description: 'One per intended effect. Added to the old shape, so that its tools get a key too.',
      }),
    ),
  },
  {
    ...closed,
    $schema: DRAFT,
    $id: 'https://writ.dev/schema/legacy/request.json',
    title: 'Tool execution request, legacy',
  },
)
export type LegacyRequest = Type.Static<typeof LegacyRequestSchema>

/** `effect` and what follows it are added to the old shape; a reader of that one ignores them. */
export const LegacyResponseSchema = Type.Object(
  {
    request_id: Type.String({ minLength: 1 }),
    status: oneOf(LEGACY_STATUSES, 'A denial is an error here.'),
    result: Type.Optional(anyJson('Present exactly when `status` is `success`.')),
    error: Type.Optional(
      Type.Object({
        tool_code: Type.String({ description: 'The canonical code.' }),
        tool_reason: Type.String({ description: 'For people.' }),
        retryable: Type.Boolean({ description: 'The safe answer for this very call.' }),
        details: anyObject('`failure`, `fix` and `effect` always, and what is known of this case.'),
      }),
    ),
    effect: oneOf(EFFECT_STATES, 'What is known of the effect.'),
    final: Type.Boolean(),
    replayed: Type.Boolean(),
    usage: UsageSchema,
    trace: Type.Object({ trace_id: Type.String(), span_id: Type.String() }),
    commit_token: Type.Optional(Type.String()),
    commit_by: Type.Optional(Type.String({ format: 'date-time' })),
    side_effects: Type.Optional(Type.Array(anyObject('One effect as the tool reports it.'))),
    warnings: Type.Optional(Type.Array(Type.String())),
  },
  {
    $schema: DRAFT,
    $id: 'https://writ.dev/schema/legacy/response.json',
    title: 'Tool execution response, legacy',
  },
)
export type LegacyResponse = Type.Static<typeof LegacyResponseSchema>
