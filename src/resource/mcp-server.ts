// Kind McpServer: where tools of the Model Context Protocol are, how they are reached, and what they are taken for (S46).
import Type from 'typebox'
import { documentSchema, Status } from './document.ts'
import { documentFields, type FieldTable, field, NO } from './field-row.ts'
import type { Kind } from './kind.ts'
import { CliSchema } from './local-code-schema.ts'
import { resolveMcpServer } from './resolve-mcp-server.ts'
import type { ResolvedMcpServer } from './resolved-mcp-server.ts'
import { closed, Duration, Names } from './schema-part.ts'
import { ToolSchema, type ToolSpec } from './tool.ts'

const tool = ToolSchema.properties.spec.properties

/** A block of a Tool, as it is there. */
function block<K extends keyof ToolSpec & keyof typeof tool>(name: K) {
  return Type.Optional(Type.Unsafe<NonNullable<ToolSpec[K]>>({ ...tool[name], sameAs: `spec.${name}` }))
}

/** What is declared of one tool. The server has no word in it. */
const Labels = Type.Object(
  {
    risk_level: block('risk_level'),
    operation_classes: block('operation_classes'),
    effect: block('effect'),
    capabilities: block('capabilities'),
    limits: block('limits'),
    runtime: block('runtime'),
    owner: block('owner'),
    data_classification: block('data_classification'),
    permission_class: block('permission_class'),
    approval_triggers: block('approval_triggers'),
    approval: block('approval'),
    approval_waiver: block('approval_waiver'),
    errors: block('errors'),
    audit: block('audit'),
    audit_fields: block('audit_fields'),
  },
  closed,
)

const Spec = Type.Object(
  {
    transport: Type.Enum(['stdio', 'http']),
    command: Type.Optional(Type.String({ minLength: 1 })),
    args: Type.Optional(Names),
    env: Type.Optional(
      Type.Array(
        Type.Object(
          {
            name: Type.String({ minLength: 1 }),
            value: Type.Optional(Type.String()),
            secretRef: Type.Optional(Type.String({ minLength: 1 })),
            key: Type.Optional(Type.String({ minLength: 1 })),
            mountPath: Type.Optional(Type.String({ minLength: 1 })),
          },
          closed,
        ),
      ),
    ),
    endpoint: Type.Optional(Type.String()),
    auth: block('auth'),
    egress: block('egress'),
    allowPrivate: Type.Optional(Type.Boolean()),
    tool_filter: Type.Optional(Type.Object({ include: Type.Optional(Names) }, closed)),
    reconnect: Type.Optional(
      Type.Object(
        {
          max_attempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
          backoff: Type.Optional(Duration),
        },
        closed,
      ),
    ),
    image: Type.Optional(Type.String({ minLength: 1 })),
    image_pull_secret: Type.Optional(Type.String({ minLength: 1 })),
    resources: Type.Optional(
      Type.Unsafe<NonNullable<Type.Static<typeof CliSchema>['resources']>>({
        ...CliSchema.properties.resources,
        sameAs: 'spec.cli.resources',
      }),
    ),
    idle_timeout: Type.Optional(Duration),
    concurrency: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
    resync: Type.Optional(Duration),
    default_tool_runtime: block('runtime'),
    tools: Type.Optional(Type.Record(Type.String({ pattern: '^[\\s\\S]{1,256}$' }), Labels, closed)),
  },
  closed,
)

/** Read back and left alone, so whatever is there is no error. */
const McpStatus = Type.Object({
  ...Status.properties,
  discoveredTools: Type.Optional(Type.Unknown()),
  generatedTools: Type.Optional(Type.Unknown()),
  quarantinedTools: Type.Optional(Type.Unknown()),
  refusedTools: Type.Optional(Type.Unknown()),
  lastSyncedAt: Type.Optional(Type.Unknown()),
})

const McpServerSchema = documentSchema('McpServer', Spec, McpStatus)
export type McpServerManifest = Type.Static<typeof McpServerSchema>

const CONTAINER = 'read and kept; containers are not built, so the server is not started'
const AS_TOOL = 'As `spec.NAME` of a Tool.'
const found = (name: string, type: string, description: string) =>
  field(`status.${name}`, type, NO, 'S46', 'descriptive', `${description} Left alone by apply.`)
const asTool = (name: string, type: string) =>
  field(`spec.tools.*.${name}`, type, NO, 'S46', 'now', AS_TOOL.replace('NAME', name))

// biome-ignore format: a row reads as a row
const FIELDS: FieldTable = {
  rows: [
    ...documentFields('McpServer', 'Its tools are tools of this namespace.'),
    found('discoveredTools', 'list of text', "The server's own names of all that it offers."),
    found('generatedTools', 'list of names', 'The tools that were made of them.'),
    found('quarantinedTools', 'list of names', 'Those whose definition changed: calls are refused until somebody accepts it.'),
    found('refusedTools', 'list of {name, why}', 'Those that were not taken, and why; also names under `spec.tools` that the server offers no tool of.'),
    found('lastSyncedAt', 'UTC time', 'When its tools were listed last.'),
    field('spec', 'object', NO, '002', 'now', 'Where the server is, and what its tools are taken for.'),
    field('spec.transport', 'stdio, http', NO, '002', 'now', 'stdio: a program that is started here. http: Streamable HTTP.', { reads: 'lower' }),
    field('spec.command', 'text', NO, '002', 'now', 'For stdio. Split at white space; the first word is the program. No shell. In profile production it has to be allowed by `cli_allow`.'),
    field('spec.args', 'list of text', '[]', '002', 'now', 'More arguments, each as it is.'),
    field('spec.env', 'list', '[]', '002', 'now', 'All that the environment of the program holds, beside PATH.'),
    field('spec.env[]', 'object', NO, '002', 'now', 'One variable: `value`, or `secretRef`.'),
    field('spec.env[].name', 'text', NO, '002', 'now', 'Its name.'),
    field('spec.env[].value', 'text', NO, '002', 'now', 'Its value, which is no secret.'),
    field('spec.env[].secretRef', '[namespace/]name[:key]', NO, '002', 'now', 'The secret that it is filled from when the program starts.'),
    field('spec.env[].key', 'text', 'value', '002', 'now', 'Which value of the secret.'),
    field('spec.env[].mountPath', 'path', NO, '002', CONTAINER, 'The secret as a file; needs an image.'),
    field('spec.endpoint', 'URL', NO, '002', 'now', 'For http.'),
    field('spec.auth', 'object', NO, '002', 'now', 'For http: as `spec.auth` of a Tool. `headerName` is X-API-Key where none is given.'),
    field('spec.egress', 'object', NO, 'S51', 'now', 'For http: as `spec.egress` of a Tool.'),
    field('spec.allowPrivate', 'boolean', 'false', '002', 'now', 'For http: private addresses, without the reason that `egress.private` gives; apply warns.'),
    field('spec.tool_filter', 'object', NO, '002', 'now', 'Which tools are taken.'),
    field('spec.tool_filter.include', 'list of text', 'all', '002', 'now', "The server's own names of the tools that are taken."),
    field('spec.reconnect', 'object', NO, '002', 'now', 'How a connection is tried again.'),
    field('spec.reconnect.max_attempts', '1 to 100', '3', '002', 'now', 'How often in a row.'),
    field('spec.reconnect.backoff', 'duration', '2s', '002', 'now', 'The first pause; each next one is twice as long.'),
    field('spec.image', 'image', NO, '002', CONTAINER, 'For stdio: a container that the program runs in.'),
    field('spec.image_pull_secret', 'name', NO, '002', CONTAINER, 'Secret of the registry.'),
    field('spec.resources', 'object', NO, '002', CONTAINER, 'As `spec.cli.resources` of a Tool.'),
    field('spec.idle_timeout', 'duration', '10m', '002', 'now', 'A connection that nobody used for so long is closed. "0": never.'),
    field('spec.concurrency', '1 to 1000', '16', '002', 'now', 'Calls under way at once on one connection.'),
    field('spec.resync', 'duration', '5m', 'S46', 'now', 'Tools are listed again this often, beside every word of the server that they changed. 1s to 24h.'),
    field('spec.default_tool_runtime', 'object', NO, '002', 'now', 'A `spec.runtime` block that every tool of the server gets; one in its labels adds to it.'),
    field('spec.tools', 'map', '{}', 'S46', 'now', "Labels by the server's own name of a tool: what it is taken for. A resync never touches them."),
    field('spec.tools.*', 'object', NO, 'S46', 'now', 'Labels of one tool. With `effect` or `operation_classes` it counts as labelled; until then it is a write, and every call waits for approval.'),
    asTool('risk_level', 'low, medium, high, critical'),
    asTool('operation_classes', 'list of read, write, delete, admin'),
    asTool('effect', 'object'),
    asTool('capabilities', 'list of labels'),
    asTool('limits', 'object'),
    asTool('runtime', 'object'),
    asTool('owner', 'text'),
    asTool('data_classification', 'public, internal, confidential, restricted'),
    asTool('permission_class', 'name'),
    asTool('approval_triggers', 'list'),
    asTool('approval', 'object'),
    asTool('approval_waiver', 'text'),
    asTool('errors', 'list'),
    asTool('audit', 'default, strict'),
    asTool('audit_fields', 'list of input fields'),
  ],
  sameShape: [],
}

export const MCP_SERVER: Kind<'McpServer', McpServerManifest, ResolvedMcpServer> = Object.freeze({
  name: 'McpServer',
  singular: 'mcp-server',
  plural: 'mcp-servers',
  versioned: false,
  permission: 'mcp:write',
  schema: McpServerSchema,
  fields: FIELDS,
  resolve: resolveMcpServer,
} as const)
