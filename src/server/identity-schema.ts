// Shapes of the routes about callers and tokens.
import Type from 'typebox'
import { ACTOR_KINDS } from '../contract/caller.ts'
import { DATA_CLASSIFICATIONS } from '../resource/resolved-tool.ts'

const LIST = Type.Array(Type.String())
const TIME = Type.String({ format: 'date-time' })

export const IDENTITY_SCHEMAS = {
  token: Type.Object(
    {
      token: Type.String({ description: 'The bearer token. It is shown here and nowhere else.' }),
      id: Type.String({ description: 'What it is revoked by.' }),
      actor: Type.String(),
      namespace: Type.String(),
      kind: Type.Enum(ACTOR_KINDS),
      roles: LIST,
      scopes: Type.Optional(LIST),
      agents: Type.Optional(LIST),
      system: Type.Optional(Type.String()),
      audience: Type.String(),
      issued_at: TIME,
      expires_at: TIME,
      warnings: Type.Optional(Type.Array(Type.String(), { description: 'Scopes that may cover nothing.' })),
    },
    { title: 'Token' },
  ),
  revocation: Type.Object(
    {
      revoked: Type.String({ description: '`token:ID`, or `tokens:ACTOR`.' }),
      until: Type.String({
        format: 'date-time',
        description: 'By then every token that is meant has expired.',
      }),
    },
    { title: 'Revocation' },
  ),
  'token-key': Type.Object(
    {
      key_id: Type.String({ description: 'What tokens name in `kid` from now on.' }),
      dropped: Type.Array(Type.String(), { description: 'Keys whose last token has expired.' }),
    },
    { title: 'Token key' },
  ),
  identity: Type.Object(
    {
      actor: Type.String(),
      namespace: Type.String(),
      kind: Type.Enum(ACTOR_KINDS),
      admin: Type.Boolean(),
      roles: LIST,
      permissions: LIST,
      clearance: Type.Enum(DATA_CLASSIFICATIONS),
      missing_roles: Type.Optional(
        Type.Array(Type.String(), { description: 'Roles that do not exist: every call is denied.' }),
      ),
      scopes: Type.Optional(LIST),
      agents: Type.Optional(LIST),
      system: Type.Optional(Type.String()),
      token_id: Type.Optional(Type.String({ description: 'What its token is revoked by.' })),
    },
    { title: 'Caller' },
  ),
} as const
