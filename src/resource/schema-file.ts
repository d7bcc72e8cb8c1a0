// Schemas that a manifest names as files, read into it: what is applied stands on its own.
import type { Json, JsonObject } from '../util/json.ts'
import { isJsonObject } from '../util/json.ts'
import { parseStrictJson } from '../util/strict-json.ts'
import type { Path, Position } from './problem.ts'
import { fromJson, type SourceObject } from './source-tree.ts'

/** The content of a file beside the manifest, or undefined when there is none. */
export type LoadFile = (name: string) => string | Uint8Array | undefined

type Refuse = (at: Position, path: Path, message: string, fix?: string) => void

/** Seed 004's request.json and response.json are whole envelopes; the tool's own part is in them. */
const ENVELOPE_PART: Readonly<Record<string, string>> = Object.freeze({
  input_schema: 'input',
  output_schema: 'output',
})

export function inlineSchemaFiles(root: SourceObject, load: LoadFile, refuse: Refuse): void {
  const spec = child(root, 'spec')
  if (spec === undefined) return
  inlineIn(spec, ['spec'], load, refuse)
  const operations = child(spec, 'operations')
  for (const [name, entry] of operations?.entries ?? []) {
    if (entry.node.kind === 'object') inlineIn(entry.node, ['spec', 'operations', name], load, refuse)
  }
}

function inlineIn(node: SourceObject, path: Path, load: LoadFile, refuse: Refuse): void {
  for (const [field, part] of Object.entries(ENVELOPE_PART)) {
    const entry = node.entries.get(field)
    if (entry?.node.kind !== 'scalar' || typeof entry.node.value !== 'string') continue
    const { at, value: name } = entry.node
    const schema = readSchema(name, load)
    if (typeof schema === 'string') {
      refuse(at, [...path, field], schema, `put a JSON Schema there, or write it in place of '${name}'`)
      continue
    }
    const own = envelopePart(schema, part, name, load)
    if (typeof own === 'string') refuse(at, [...path, field], own, `put the ${part} schema there`)
    else node.entries.set(field, { keyAt: entry.keyAt, node: fromJson(own, at) })
  }
}

function child(node: SourceObject, name: string): SourceObject | undefined {
  const found = node.entries.get(name)?.node
  return found?.kind === 'object' ? found : undefined
}

/** The schema, or what is wrong with the file. */
function readSchema(name: string, load: LoadFile): JsonObject | string {
  if (!isBeside(name)) return `'${name}' must be a file in the folder of the manifest`
  const text = load(name)
  if (text === undefined) return `there is no file '${name}' beside the manifest`
  const read = parseStrictJson(text)
  if (!read.ok) return `'${name}' ${read.violations[0]?.message ?? 'is no JSON'}`
  return isJsonObject(read.value) ? read.value : `'${name}' holds no JSON Schema`
}

/** A manifest may come from anywhere; it must not be able to read what is not its own. */
function isBeside(name: string): boolean {
  return /^[\w.-]+(\/[\w.-]+)*$/.test(name.replace(/^\.\//, '')) && !name.split('/').includes('..')
}

/** Of an envelope schema its part, which may be in a file of its own beside it; any other schema is the part. */
function envelopePart(schema: JsonObject, part: string, name: string, load: LoadFile): JsonObject | string {
  const properties = schema.properties
  if (!isJsonObject(properties) || !Object.hasOwn(properties, 'call_id')) return schema
  const inner: Json | undefined = properties[part]
  if (!isJsonObject(inner)) return `'${name}' is the schema of an envelope without ${part}`
  const ref = inner.$ref
  if (typeof ref !== 'string' || ref.startsWith('#')) return inner
  const folder = name.includes('/') ? name.slice(0, name.lastIndexOf('/') + 1) : ''
  return readSchema(folder + ref.replace(/#$/, ''), load)
}
