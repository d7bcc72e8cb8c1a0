// The file of targets: its shape. What belongs to which type is checked when it is read.
import Type, { type Static } from 'typebox'
import { APPROVAL_EVENTS } from '../contract/approval-event.ts'

export const TARGET_TYPES = ['webhook', 'slack', 'teams', 'email'] as const

/** No display name, no quotes, no line ends: what cannot be written so is nobody's address here. */
const ADDRESS = '^[A-Za-z0-9.!#$%&*+/=?^_{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$'
const Address = Type.String({ pattern: ADDRESS, maxLength: 320 })
const Name = Type.String({ pattern: '^[a-z0-9][a-z0-9._-]{0,62}$' })
const Variable = Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]{0,127}$' })
const File = Type.String({ minLength: 1, maxLength: 4096 })

const SmtpSchema = Type.Object(
  {
    host: Type.String({ pattern: '^[A-Za-z0-9.:-]{1,255}$' }),
    port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65535 })),
    secure: Type.Optional(Type.Enum(['tls', 'starttls', 'none'])),
    user: Type.Optional(Type.String({ minLength: 1, maxLength: 320 })),
    password_env: Type.Optional(Variable),
    password_file: Type.Optional(File),
    ca_file: Type.Optional(File),
  },
  { additionalProperties: false },
)

const ApproverSchema = Type.Object(
  {
    actor: Type.String({ minLength: 1, maxLength: 256, pattern: '^[^\\p{Cc}]+$' }),
    email: Type.Optional(Address),
    roles: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { maxItems: 16 })),
  },
  { additionalProperties: false },
)

const TargetSchema = Type.Object(
  {
    name: Name,
    type: Type.Enum(TARGET_TYPES),
    url: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
    url_env: Type.Optional(Variable),
    url_file: Type.Optional(File),
    secret_env: Type.Optional(Variable),
    secret_file: Type.Optional(File),
    smtp: Type.Optional(SmtpSchema),
    from: Type.Optional(Address),
    to: Type.Optional(Type.Array(Address, { minItems: 1, maxItems: 50 })),
    namespaces: Type.Optional(
      Type.Array(Type.String({ pattern: '^(\\*|[a-z0-9][a-z0-9._-]{0,127})$' }), { minItems: 1 }),
    ),
    events: Type.Optional(Type.Array(Type.Enum(APPROVAL_EVENTS), { minItems: 1 })),
    approvers: Type.Optional(Type.Array(ApproverSchema, { minItems: 1, maxItems: 50 })),
  },
  { additionalProperties: false },
)

export const TargetsSchema = Type.Array(TargetSchema, { maxItems: 100 })
export type Target = Static<typeof TargetSchema>
