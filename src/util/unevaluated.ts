// `unevaluatedProperties` and `unevaluatedItems`: what no other schema at the same place has looked at.
//
// The engine's own take every name that objects inherit, and every item beside a `contains`, for looked at, and fail
// on patterns beside alternatives. These ask again which schemas apply, and need nothing remembered.
import type { Json, JsonObject } from './json.ts'
import type { SchemaShape, SchemaShapes } from './schema-shape.ts'

/** The fields that `unevaluatedProperties` of this node is about. */
export function unevaluatedFields(
  node: JsonObject,
  value: JsonObject,
  shapes: SchemaShapes,
): readonly string[] {
  const [own, ...others] = shapes.applied([node], value)
  if (own === undefined || own.additional !== undefined) return []
  if (others.some((shape) => shape.additional !== undefined || shape.unevaluatedFields !== undefined))
    return []
  const applied = [own, ...others]
  return Object.keys(value).filter((name) => !applied.some((shape) => isFieldOf(name, shape)))
}

function isFieldOf(name: string, shape: SchemaShape): boolean {
  return shape.fields.has(name) || shape.patterns.some(([pattern]) => pattern.test(name))
}

/** The indexes of the items that `unevaluatedItems` of this node is about. */
export function unevaluatedItems(
  node: JsonObject,
  value: readonly Json[],
  shapes: SchemaShapes,
): readonly number[] {
  const [own, ...others] = shapes.applied([node], value)
  if (own === undefined || own.items !== undefined) return []
  if (others.some((shape) => shape.items !== undefined || shape.unevaluatedItems !== undefined)) return []
  const applied = [own, ...others]
  const start = Math.max(...applied.map((shape) => shape.prefixItems.length))
  const searches = applied.map((shape) => shape.contains).filter((schema) => schema !== undefined)
  const isFound = (item: Json) => searches.some((schema) => shapes.matches(schema, item))
  return [...value.keys()].filter((index) => index >= start && !isFound(value[index] ?? null))
}
