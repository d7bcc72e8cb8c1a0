// The shape of the definition of a tool that was made from an MCP server, for the OpenAPI document.
import Type from 'typebox'
import type { Json, JsonObject } from '../util/json.ts'

const object = (description: string) => Type.Unsafe<JsonObject>({ type: 'object', description })
const any = (description: string) => Type.Unsafe<Json>({ description })

export const MCP_SCHEMAS = {
  'tool-definition': Type.Object(
    {
      tool: Type.String(),
      server: Type.String({ description: 'The McpServer that it was made from.' }),
      state: Type.Enum(['pinned', 'quarantined', 'gone']),
      pin: Type.Integer({ minimum: 1, description: 'How many definitions were taken on so far.' }),
      digest: Type.String({ description: 'Of the definition that was taken on.' }),
      definition: object('What was taken on.'),
      offered: Type.Optional(
        Type.Object(
          {
            digest: Type.String({ description: 'Say this to accept it.' }),
            definition: object('What the server says by now.'),
            changes: Type.Array(
              Type.Object({
                op: Type.Enum(['add', 'remove', 'change']),
                path: Type.String({ description: 'JSON pointer into the definition.' }),
                from: Type.Optional(any('What was there.')),
                to: Type.Optional(any('What is there.')),
              }),
            ),
            problem: Type.Optional(Type.String({ description: 'Why it cannot be taken on.' })),
          },
          { description: 'Only of a tool that is quarantined.' },
        ),
      ),
    },
    { title: 'Tool definition' },
  ),
} as const
