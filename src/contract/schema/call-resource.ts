// The Call resource: what GET /v1/calls/{id} shows, whatever dialect the call came in (S8).
import Type from 'typebox'
import { OPEN_STATES, OUTCOMES } from '../answer.ts'
import { DIALECT_NAMES } from '../call.ts'
import { EFFECT_STATES } from '../effect.ts'
import { anyObject, DRAFT, oneOf } from './common.ts'

export const CallResourceSchema = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: "Writ's own id of the call." }),
    request_id: Type.String({ description: 'As the caller sent it.' }),
    namespace: Type.String(),
    actor: Type.String({ description: 'Whom the call runs for.' }),
    dialect: oneOf(DIALECT_NAMES, 'The wire shape of the request, and of `answer`.'),
    tool: Type.Object({
      name: Type.String(),
      operation: Type.String(),
      version: Type.Optional(Type.String({ description: 'Absent where nothing was resolved.' })),
      digest: Type.Optional(Type.String()),
    }),
    state: oneOf([...OUTCOMES, ...OPEN_STATES], 'An outcome, or a named open state.'),
    final: Type.Boolean({ description: 'Outcomes are final and never change.' }),
    effect: oneOf(EFFECT_STATES, 'What is known of the effect.'),
    created_at: Type.String({ format: 'date-time' }),
    ended_at: Type.Optional(
      Type.String({ format: 'date-time', description: 'Absent while the call is open.' }),
    ),
    entry_id: Type.Optional(Type.String({ description: 'The intended effect that this call asks for.' })),
    answer: Type.Optional(anyObject('The envelope in its dialect; absent while the call runs.')),
  },
  {
    $schema: DRAFT,
    $id: 'https://writ.dev/schema/v1/call.json',
    title: 'Call',
  },
)
export type CallResource = Type.Static<typeof CallResourceSchema>
