// Names of input fields in a manifest: JSON pointers, or names with dots, checked against the schema where it can tell.
import { isJsonObject, type Json, type JsonObject } from '../util/json.ts'
import { isPointer, pointer, splitPointer } from '../util/pointer.ts'

/** `/a/b` for both '/a/b' and 'a.b'. A name that itself has a dot needs the pointer. undefined for no name at all. */
export function toPointer(field: string): string | undefined {
  const text = field.trim()
  if (text.startsWith('/') || text === '') return text !== '' && isPointer(text) ? text : undefined
  const segments = text.replace(/^\$\./, '').split('.')
  return segments.includes('') ? undefined : pointer(segments)
}

/** Keywords that can bring in fields that `properties` does not show. */
const OPEN_KEYWORDS = [
  '$ref',
  '$dynamicRef',
  'allOf',
  'anyOf',
  'oneOf',
  'if',
  'dependentSchemas',
  'patternProperties',
]

/** False only when a valid input can never have the field (S5). */
export function mayHaveField(schema: JsonObject, field: string): boolean {
  let at: Json | undefined = schema
  for (const segment of splitPointer(field) ?? []) {
    const node: Json | undefined = at
    if (!isJsonObject(node)) return node !== false
    if (OPEN_KEYWORDS.some((keyword) => Object.hasOwn(node, keyword))) return true
    const properties: Json | undefined = node.properties
    const additional: Json | undefined = node.additionalProperties
    const items: Json | undefined = node.items
    if (isJsonObject(properties) && Object.hasOwn(properties, segment)) {
      at = properties[segment]
      continue
    }
    if (additional !== undefined && additional !== false) return true
    if (isJsonObject(items) && /^\d+$/.test(segment)) {
      at = items
      continue
    }
    return !isJsonObject(properties) && !isScalarType(node.type)
  }
  return true
}

function isScalarType(type: Json | undefined): boolean {
  return typeof type === 'string' && type !== 'object' && type !== 'array'
}
