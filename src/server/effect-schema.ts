// The shapes of open effects, sagas and verdicts, for the OpenAPI document.
import Type from 'typebox'
import { ENTRY_STATES } from '../contract/entry.ts'
import { SAGA_STATES } from '../contract/saga.ts'

const nextCursor = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  description: 'null on the last page.',
})
const time = (description: string) => Type.String({ format: 'date-time', description })

const EntrySchema = Type.Object(
  {
    entry_id: Type.String(),
    call_id: Type.String({ description: 'The call that claimed it.' }),
    request_id: Type.String(),
    actor: Type.String(),
    tool: Type.Object({ name: Type.String(), version: Type.String(), operation: Type.String() }),
    state: Type.Enum([...ENTRY_STATES]),
    attempts: Type.Integer({ minimum: 0 }),
    created_at: time('When it was intended.'),
    since: Type.Optional(time('Since when it is in question.')),
    error: Type.Optional(
      Type.Object(
        {
          failure: Type.String({ description: 'A row of the failure table.' }),
          dotted_code: Type.String(),
          message: Type.String(),
          fix: Type.String(),
          retryable: Type.Boolean({ description: 'The same key again is safe, and settles it.' }),
        },
        { description: 'What failed.' },
      ),
    ),
    next: Type.Optional(
      Type.Object(
        { kind: Type.String(), at: time('When.') },
        { description: 'What happens by itself; absent where a person has to settle it.' },
      ),
    ),
  },
  { title: 'Open effect' },
)

const SAGA_FIELDS = {
  id: Type.String(),
  namespace: Type.String(),
  actor: Type.String({ description: 'Who opened it: only calls of this caller may join.' }),
  state: Type.Enum([...SAGA_STATES]),
  reason: Type.Optional(Type.String({ description: 'Why it is in this state.' })),
  created_at: time('When it was opened.'),
  ended_at: Type.Optional(time('Absent until it is completed or aborted.')),
}

export const EFFECT_SCHEMAS = {
  'entry-list': Type.Object(
    { entries: Type.Array(EntrySchema), next_cursor: nextCursor },
    { title: 'Page of open effects' },
  ),
  saga: Type.Object(
    {
      ...SAGA_FIELDS,
      members: Type.Array(
        Type.Object({
          entry_id: Type.String(),
          call_id: Type.String(),
          tool: Type.Object({ name: Type.String(), operation: Type.String() }),
          state: Type.Enum([...ENTRY_STATES]),
          compensation_call_id: Type.Optional(Type.String({ description: 'The call that undoes it.' })),
        }),
        { description: 'In the order in which they were made.' },
      ),
    },
    { title: 'Saga' },
  ),
  'saga-list': Type.Object(
    { sagas: Type.Array(Type.Object(SAGA_FIELDS)), next_cursor: nextCursor },
    { title: 'Page of sagas' },
  ),
  'tool-verdict': Type.Object(
    {
      verdict: Type.Enum(['verified', 'refuted']),
      tool: Type.String(),
      version: Type.String(),
      digest: Type.String(),
      declared: Type.String({ description: 'What the tool says about repeats.' }),
      detail: Type.String({ description: 'What was seen.' }),
      call_id: Type.String(),
    },
    { title: 'Verdict' },
  ),
} as const
