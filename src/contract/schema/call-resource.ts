// The Call resource: what GET /v1/calls/{id} shows, whatever dialect the call came in (S8).
import Type from 'typebox'
import { OPEN_STATES, OUTCOMES } from '../answer.ts'
import { DIALECT_NAMES } from '../call.ts'
import { EFFECT_STATES } from '../effect.ts'
import { ENTRY_STATES } from '../entry.ts'
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
    entry_state: Type.Optional(
      oneOf(ENTRY_STATES, 'How that effect stands by now; a call that has ended keeps its own state.'),
    ),
    compensation: Type.Optional(
      Type.Object(
        {
          call_id: Type.String({ description: 'The call that undoes it, or tried to.' }),
          tries: Type.Integer({ minimum: 0 }),
          error: Type.Optional(
            Type.Object(
              {
                failure: Type.String({ description: 'A row of the failure table.' }),
                message: Type.String(),
                details: anyObject('What is known of this case.'),
                fix: Type.String(),
              },
              { description: 'Why the last try did not.' },
            ),
          ),
        },
        { description: 'How it is undone, where that was begun.' },
      ),
    ),
    answer: Type.Optional(anyObject('The envelope in its dialect; absent while the call runs.')),
  },
  {
    $schema: DRAFT,
    $id: 'https://writ.dev/schema/v1/call.json',
    title: 'Call',
  },
)
export type CallResource = Type.Static<typeof CallResourceSchema>
