// Tools that are functions of the embedding program (S55), typed from their schemas.
import type Type from 'typebox'
import { API_VERSION } from './resource/document.ts'
import { formatProblem, isOfKind, readManifestValue } from './resource/manifest.ts'
import { type Finding, toProblem } from './resource/problem.ts'
import { type ResolveOptions, resolveTool } from './resource/resolve-tool.ts'
import type { ResolvedTool } from './resource/resolved-tool.ts'
import type { ToolSpec } from './resource/tool.ts'
import type { NativeContext, NativeHandler } from './transport/native.ts'
import type { Json, JsonObject } from './util/json.ts'

/** A TypeBox schema, or any JSON Schema. */
export type SchemaLike = Type.TSchema | JsonObject

/** TypeBox marks its schemas; of any other the type cannot be told. */
type ValueOf<S> = S extends Type.TSchema & { readonly '~kind': string } ? Type.Static<S> : Json

/** Everything a manifest can say about a tool besides where it is and what its operations are. */
export type NativeSpec = Omit<
  ToolSpec,
  'type' | 'endpoint' | 'input_schema' | 'output_schema' | 'operations' | 'description' | 'version'
>

export interface OperationDefinition<I extends SchemaLike = JsonObject, O extends SchemaLike = JsonObject> {
  readonly description?: string
  readonly input?: I
  readonly output?: O
  /** What it does to the world; undeclared counts as a write that cannot be repeated (S21). */
  readonly effect?: ToolSpec['effect']
  readonly handler: (input: ValueOf<I>, context: NativeContext) => ValueOf<O> | Promise<ValueOf<O>>
}

export interface ToolDefinition<I extends SchemaLike, O extends SchemaLike>
  extends OperationDefinition<I, O> {
  readonly name: string
  readonly version?: string
  readonly namespace?: string
  /** Capabilities, limits, approval triggers and the rest, in the words of a manifest. */
  readonly spec?: NativeSpec
  /** Further operations beside `invoke`; make each with `defineOperation`. */
  readonly operations?: Readonly<Record<string, OperationDefinition>>
}

/** A tool ready for `createRuntime({ tools })`. */
export interface NativeToolDefinition {
  readonly manifest: {
    readonly metadata: { readonly name: string; readonly namespace?: string }
    readonly spec: JsonObject
  }
  readonly handlers: Readonly<Record<string, NativeHandler>>
}

/** Keeps the types of one operation; it is what it is given. */
export function defineOperation<
  const I extends SchemaLike = JsonObject,
  const O extends SchemaLike = JsonObject,
>(operation: OperationDefinition<I, O>): OperationDefinition {
  return operation as unknown as OperationDefinition
}

export function defineTool<const I extends SchemaLike = JsonObject, const O extends SchemaLike = JsonObject>(
  definition: ToolDefinition<I, O>,
): NativeToolDefinition {
  const { name, version, namespace, spec, operations = {} } = definition
  const all: Record<string, OperationDefinition> = {
    invoke: definition as unknown as OperationDefinition,
    ...operations,
  }
  return Object.freeze({
    manifest: {
      metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
      spec: asJson({
        ...spec,
        ...(version === undefined ? {} : { version }),
        ...(definition.description === undefined ? {} : { description: definition.description }),
        operations: Object.fromEntries(Object.entries(all).map(([key, one]) => [key, declare(one)])),
      }),
    },
    handlers: Object.fromEntries(
      Object.entries(all).map(([key, one]) => [key, one.handler as NativeHandler]),
    ),
  })
}

function declare(operation: OperationDefinition): object {
  const { description, input, output, effect } = operation
  return { description, input_schema: input, output_schema: output, effect }
}

/** Drops what JSON cannot hold: undefined fields, and the hidden marks of a TypeBox schema. */
function asJson(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject
}

/** A program's own tool that cannot be resolved is a mistake in that program: it is thrown. */
export function resolveNative(
  definition: NativeToolDefinition,
  options: ResolveOptions,
  onWarning: (message: string) => void,
): ResolvedTool {
  const { name } = definition.manifest.metadata
  const read = readManifestValue({ apiVersion: API_VERSION, kind: 'Tool', ...definition.manifest }, name)
  const [document] = read.documents
  if (!isOfKind(document, 'Tool')) throw new Error(read.problems.map(formatProblem).join('\n'))
  const { tool, errors, warnings } = resolveTool(document.manifest, { ...options, native: true })
  const say = (one: Finding) => formatProblem(toProblem(one, name, document.at(one.path)))
  // What apply would warn of (S14, S21).
  for (const warning of warnings) onWarning(say(warning))
  if (tool !== undefined) return tool
  throw new Error(errors.map(say).join('\n'))
}
