// JSON Schema 2020-12 as its text says it, slowly and plainly: the oracle for random schemas. It collects what was
// evaluated as the specification describes it, for the keywords that the tests generate.
import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type Json, type JsonObject } from '../../src/util/json.ts'
import { readPointer } from '../../src/util/pointer.ts'

interface Result {
  readonly valid: boolean
  /** Keys or indexes of the value that were looked at; dropped with everything else of a schema that fails. */
  readonly evaluated: ReadonlySet<string | number>
}

export function isValid(root: Json, value: Json): boolean {
  return evaluate(root, value, root).valid
}

const TYPES: Record<string, (value: Json) => boolean> = {
  object: isJsonObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  null: (value) => value === null,
}

function evaluate(schema: Json, value: Json, root: Json): Result {
  if (!isJsonObject(schema)) return { valid: schema === true, evaluated: new Set() }
  const evaluated = new Set<string | number>()
  let valid = true
  const run = (inner: Json, part: Json) => evaluate(inner, part, root)
  const must = (condition: boolean) => {
    valid &&= condition
  }
  /** Applies a schema to the same value and keeps what it evaluated, if it is valid. */
  const along = (inner: Json | undefined): boolean => {
    if (inner === undefined) return true
    const result = run(inner, value)
    if (result.valid) for (const part of result.evaluated) evaluated.add(part)
    return result.valid
  }
  const list = (name: string) => (schema[name] ?? []) as readonly Json[]
  const map = (name: string) => Object.entries((schema[name] ?? {}) as JsonObject)

  if (schema.type !== undefined) must([schema.type].flat().some((type) => TYPES[String(type)]?.(value)))
  if (schema.enum !== undefined) must(list('enum').some((one) => isDeepStrictEqual(one, value)))
  if (typeof schema.minimum === 'number' && typeof value === 'number') must(value >= schema.minimum)

  if (typeof schema.$ref === 'string') must(along(readPointer(root, schema.$ref.slice(1))))
  for (const inner of list('allOf')) must(along(inner))
  if (schema.anyOf !== undefined) must(list('anyOf').map(along).includes(true))
  if (schema.oneOf !== undefined) must(list('oneOf').map(along).filter(Boolean).length === 1)
  if (schema.not !== undefined) must(!run(schema.not, value).valid)
  if (schema.if !== undefined) must(along(along(schema.if) ? schema.then : schema.else))

  if (isJsonObject(value)) {
    const visit = (name: string, inner: Json) => {
      must(run(inner, value[name] as Json).valid)
      evaluated.add(name)
    }
    for (const name of list('required')) must(Object.hasOwn(value, String(name)))
    for (const [name, inner] of map('dependentSchemas')) if (Object.hasOwn(value, name)) must(along(inner))
    const named = new Set<string>()
    for (const name of Object.keys(value)) {
      for (const [field, inner] of map('properties'))
        if (field === name) visit(named.add(name) && name, inner)
      for (const [source, inner] of map('patternProperties')) {
        if (new RegExp(source, 'u').test(name)) visit(named.add(name) && name, inner)
      }
      if (schema.additionalProperties !== undefined && !named.has(name))
        visit(name, schema.additionalProperties)
    }
    if (schema.unevaluatedProperties !== undefined) {
      for (const name of Object.keys(value))
        if (!evaluated.has(name)) visit(name, schema.unevaluatedProperties)
    }
  }

  if (Array.isArray(value)) {
    const items = value as readonly Json[]
    const visit = (index: number, inner: Json) => {
      must(run(inner, items[index] as Json).valid)
      evaluated.add(index)
    }
    if (schema.uniqueItems === true) {
      must(
        items.every((item, index) => !items.slice(0, index).some((other) => isDeepStrictEqual(item, other))),
      )
    }
    const prefix = list('prefixItems')
    for (const index of items.keys()) {
      const inner = prefix[index] ?? schema.items
      if (inner !== undefined) visit(index, inner)
    }
    if (schema.contains !== undefined) {
      const found = [...items.keys()].filter(
        (index) => run(schema.contains as Json, items[index] as Json).valid,
      )
      must(found.length > 0)
      for (const index of found) evaluated.add(index)
    }
    if (schema.unevaluatedItems !== undefined) {
      for (const index of items.keys()) if (!evaluated.has(index)) visit(index, schema.unevaluatedItems)
    }
  }
  return { valid, evaluated }
}
