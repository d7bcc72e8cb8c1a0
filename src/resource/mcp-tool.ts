// The Tool that is made of one tool of an MCP server: its definition as it was taken on, and what is declared of it here.
import { canonicalJson, sha256Hex } from '../util/canonical.ts'
import { isJsonObject, type JsonObject } from '../util/json.ts'
import { API_VERSION } from './document.ts'
import { cleanDefinition, saidDefinition } from './mcp-text.ts'
import { isName } from './name.ts'
import type { ResolvedMcpServer } from './resolved-mcp-server.ts'

const MCP_SERVER_LABEL = 'writ.dev/mcp-server'
const MCP_GENERATED_LABEL = 'writ.dev/mcp-generated'

/** What is taken of a definition: every word of it is the server's, and untrusted. */
export interface McpDefinition {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly outputSchema?: JsonObject
  readonly annotations?: JsonObject
  /** The digest of all this in the words of the server, where something that they hide was taken out. */
  readonly said?: string
}

/** The pin of a generated tool: its `spec.mcp`. */
export interface McpPin {
  readonly pin: number
  readonly digest: string
  readonly labelled?: boolean
  readonly title?: string
  readonly annotations?: JsonObject
  readonly said?: string
  readonly gone?: boolean
  /** `problem`: why it cannot be taken on. */
  readonly offered?: JsonObject
}

const SCHEMA_BYTES = 128 * 1024
const ANNOTATION_BYTES = 8 * 1024

/** The definition as it is kept; a text where it cannot be. */
export function takeDefinition(given: {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema: JsonObject
  readonly outputSchema?: JsonObject
  readonly annotations?: JsonObject
}): McpDefinition | string {
  const { name, title, description = '', inputSchema, outputSchema, annotations } = given
  for (const [what, schema] of Object.entries({
    'input schema': inputSchema,
    'output schema': outputSchema,
  })) {
    if (schema !== undefined && Buffer.byteLength(JSON.stringify(schema)) > SCHEMA_BYTES)
      return `its ${what} is longer than ${SCHEMA_BYTES} bytes`
  }
  const hints = annotations !== undefined && JSON.stringify(annotations).length <= ANNOTATION_BYTES
  const words = {
    name,
    ...(title === undefined ? {} : { title }),
    description,
    inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(hints ? { annotations } : {}),
  }
  const taken = cleanDefinition(words)
  const said = definitionDigest(saidDefinition(words))
  // A change of what nobody sees is a change, too: whoever looks after the tool is told of it.
  return said === definitionDigest(taken) ? taken : { ...taken, said }
}

/** Over all that is taken of it, so that two with one digest read the same to everybody. */
export function definitionDigest(definition: McpDefinition): string {
  return `sha256:${sha256Hex('McpTool', canonicalJson(definitionJson(definition)))}`
}

export function definitionJson(definition: McpDefinition): JsonObject {
  const { name, title, description, inputSchema, outputSchema, annotations, said } = definition
  return {
    name,
    ...(title === undefined ? {} : { title }),
    description,
    input_schema: inputSchema,
    ...(outputSchema === undefined ? {} : { output_schema: outputSchema }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(said === undefined ? {} : { said }),
  }
}

export function readDefinition(json: JsonObject): McpDefinition {
  const { name, title, description, input_schema: input, output_schema: output, annotations, said } = json
  return {
    name: String(name),
    ...(typeof title === 'string' ? { title } : {}),
    description: String(description ?? ''),
    inputSchema: isJsonObject(input) ? input : {},
    ...(isJsonObject(output) ? { outputSchema: output } : {}),
    ...(isJsonObject(annotations) ? { annotations } : {}),
    ...(typeof said === 'string' ? { said } : {}),
  }
}

/** `<server>--<tool>`, with `_` and `.` as `-`; undefined where that is no name of a tool. */
export function generatedName(server: string, tool: string): string | undefined {
  const name = `${server}--${tool.replaceAll(/[_.]/g, '-')}`
  return isName(name) ? name : undefined
}

/** S46: said here, it counts as labelled; until then it is a write. */
export function isLabelled(labels: JsonObject | undefined): boolean {
  return labels?.effect !== undefined || labels?.operation_classes !== undefined
}

/** What labels make of the spec of a tool. */
export function labelledSpec(labels: JsonObject, runtime: JsonObject | undefined): JsonObject {
  const { runtime: own, ...rest } = labels
  const both = { ...runtime, ...(isJsonObject(own) ? own : {}) }
  return {
    ...(labels.effect === undefined ? { operation_classes: ['write'] } : {}),
    ...rest,
    ...(Object.keys(both).length === 0 ? {} : { runtime: both }),
  }
}

/** The manifest of the tool, as it is kept. */
export function generateTool(
  server: ResolvedMcpServer,
  name: string,
  definition: McpDefinition,
  pin: Pick<McpPin, 'pin' | 'gone' | 'offered'>,
): JsonObject {
  const labels = Object.hasOwn(server.labels, definition.name) ? server.labels[definition.name] : undefined
  const { title, annotations, description, inputSchema, outputSchema, said } = definition
  const own: McpPin = {
    pin: pin.pin,
    digest: definitionDigest(definition),
    ...(isLabelled(labels) ? { labelled: true } : {}),
    ...(title === undefined ? {} : { title }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(said === undefined ? {} : { said }),
    ...(pin.gone === true ? { gone: true } : {}),
    ...(pin.offered === undefined ? {} : { offered: pin.offered }),
  }
  return {
    apiVersion: API_VERSION,
    kind: 'Tool',
    metadata: {
      name,
      namespace: server.namespace,
      labels: { [MCP_SERVER_LABEL]: server.name, [MCP_GENERATED_LABEL]: 'true' },
    },
    spec: {
      type: 'mcp',
      description,
      mcp_server_ref: server.name,
      mcp_tool_name: definition.name,
      input_schema: inputSchema,
      ...(outputSchema === undefined ? {} : { output_schema: outputSchema }),
      ...labelledSpec(labels ?? {}, server.defaultToolRuntime),
      mcp: own as unknown as JsonObject,
    },
  }
}

/** What a kept manifest says of the server it was made from; undefined for any other tool. */
export function madeFrom(
  body: JsonObject,
): { readonly server: string; readonly definition: McpDefinition; readonly mcp: McpPin } | undefined {
  const { spec } = body
  if (!isJsonObject(spec) || spec.type !== 'mcp' || !isJsonObject(spec.mcp)) return undefined
  const { mcp } = spec
  const definition = readDefinition({
    name: spec.mcp_tool_name ?? '',
    description: spec.description ?? '',
    input_schema: spec.input_schema ?? {},
    ...(spec.output_schema === undefined ? {} : { output_schema: spec.output_schema }),
    ...(mcp.title === undefined ? {} : { title: mcp.title }),
    ...(mcp.annotations === undefined ? {} : { annotations: mcp.annotations }),
    ...(mcp.said === undefined ? {} : { said: mcp.said }),
  })
  return { server: String(spec.mcp_server_ref), definition, mcp: mcp as unknown as McpPin }
}
