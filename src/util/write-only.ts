// Sensitive input: the fields that a schema marks `writeOnly: true` are shown as *** everywhere (S5).
//
// It masks too much rather than too little: a mark counts in every alternative, whether it matches or not.
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { escapePointer } from './pointer.ts'
import { readSchema, type SchemaDocument } from './schema-document.ts'
import { heldSchemas, SCHEMA_KEYWORDS, type Schema } from './schema-keyword.ts'

export const MASK = '***'

/** Past this the schema is taken to be sensitive as a whole. */
const MAX_VISITS = 20_000

/**
 * Where the sensitive fields are, as JSON pointers in which `*` stands for any one key or index, and `**` for any
 * number of them, as recursive schemas have.
 */
export function writeOnlyPaths(schema: JsonObject | boolean): readonly string[] {
  const document = readSchema(schema)
  const open = new Set<JsonObject>()
  const recursive = new Set<JsonObject>()
  let visits = 0

  function visit(node: Schema): readonly string[] {
    if (typeof node === 'boolean') return []
    if (open.has(node)) {
      recursive.add(node)
      return []
    }
    if (++visits > MAX_VISITS) return ['/**']
    if (node.writeOnly === true) return ['']
    open.add(node)
    const paths = new Set(inPlace(node, document).flatMap(visit))
    for (const [part, inner] of parts(node)) for (const rest of visit(inner)) paths.add(`/${part}${rest}`)
    open.delete(node)
    if (paths.has('')) return ['']
    return [...paths].map((path) => (recursive.has(node) ? `/**${path}` : path))
  }

  return [...new Set(visit(document.root))].sort()
}

/** Makes what shows a value without its sensitive fields; the schema is read once. */
export function createWriteOnlyMask(schema: JsonObject | boolean): (value: Json) => Json {
  if (!JSON.stringify(schema).includes('"writeOnly"')) return (value) => value
  const document = readSchema(schema)
  return (value) => mask(value, [document.root], document)
}

export function maskWriteOnly(schema: JsonObject | boolean, value: Json): Json {
  return createWriteOnlyMask(schema)(value)
}

function mask(value: Json, schemas: readonly Schema[], document: SchemaDocument): Json {
  const nodes = applied(schemas, document)
  if (nodes.some((node) => node.writeOnly === true)) return MASK
  if (typeof value !== 'object' || value === null || nodes.length === 0) return value
  if (!isJsonObject(value)) {
    return value.map((item, index) =>
      mask(
        item,
        nodes.flatMap((node) => itemSchemas(node, index)),
        document,
      ),
    )
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      return [
        name,
        mask(
          item,
          nodes.flatMap((node) => fieldSchemas(node, name, document)),
          document,
        ),
      ]
    }),
  )
}

/** Everything that speaks of the same place, each once. */
function applied(schemas: readonly Schema[], document: SchemaDocument): readonly JsonObject[] {
  const nodes = new Set<JsonObject>()
  for (const schema of schemas) if (typeof schema === 'object') nodes.add(schema)
  for (const node of nodes) {
    for (const next of inPlace(node, document)) if (typeof next === 'object') nodes.add(next)
  }
  return [...nodes]
}

function inPlace(node: JsonObject, document: SchemaDocument): readonly Schema[] {
  const held = [...SCHEMA_KEYWORDS].flatMap(([name, keyword]) => {
    return keyword.inPlace ? heldSchemas(node, name, keyword).map(([, schema]) => schema) : []
  })
  return [...document.targets(node), ...held]
}

function parts(node: JsonObject): readonly (readonly [string, Schema])[] {
  const named = PARTS.flatMap((name) => {
    const keyword = SCHEMA_KEYWORDS.get(name)
    return keyword === undefined ? [] : heldSchemas(node, name, keyword)
  })
  return named.map(([path, schema]) => {
    const isNamed = path[0] === 'properties' || path[0] === 'prefixItems'
    return [isNamed ? escapePointer(path[1] ?? '') : '*', schema] as const
  })
}

const FIELD_REST = ['additionalProperties', 'unevaluatedProperties'] as const
const ITEM_REST = ['items', 'contains', 'unevaluatedItems'] as const
const PARTS = ['properties', 'patternProperties', ...FIELD_REST, 'prefixItems', ...ITEM_REST] as const

function fieldSchemas(node: JsonObject, name: string, document: SchemaDocument): readonly Schema[] {
  const found: Schema[] = []
  const fields = (node.properties ?? {}) as Record<string, Schema>
  const own = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (own !== undefined) found.push(own)
  for (const [source, schema] of Object.entries((node.patternProperties ?? {}) as Record<string, Schema>)) {
    if (document.pattern(source).test(name)) found.push(schema)
  }
  return found.length > 0 ? found : rest(node, FIELD_REST)
}

function itemSchemas(node: JsonObject, index: number): readonly Schema[] {
  const own = ((node.prefixItems ?? []) as readonly Schema[])[index]
  return own === undefined ? rest(node, ITEM_REST) : [own, ...rest(node, ['contains'])]
}

function rest(node: JsonObject, names: readonly string[]): readonly Schema[] {
  return names.map((name) => node[name] as Schema | undefined).filter((schema) => schema !== undefined)
}
