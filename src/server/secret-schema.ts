// The shape of what is said about a new master key, for the OpenAPI document.
import Type from 'typebox'

export const SECRET_SCHEMAS = {
  'secret-key': Type.Object(
    {
      key_id: Type.String({ description: 'The newest master key.' }),
      added: Type.Boolean({ description: 'It was made just now; else it is what the server was given.' }),
      rewrapped: Type.Integer({ minimum: 0, description: 'How many secrets are wrapped anew.' }),
      left: Type.Integer({ minimum: 0, description: 'Others kept changing these: ask again.' }),
      unopened: Type.Array(
        Type.Object({ namespace: Type.String(), name: Type.String(), why: Type.String() }),
        { description: 'These could not be opened, and stay as they are.' },
      ),
      unused: Type.Array(Type.String(), {
        description: 'Older master keys that nothing but a backup needs. Empty while something does.',
      }),
    },
    { title: 'Secret key' },
  ),
} as const
