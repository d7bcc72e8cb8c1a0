// A schema and a value: what is said of it, and that it is said in time.
import assert from 'node:assert/strict'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { compileSchema } from '../../src/util/json-schema.ts'

export const told = (schema: JsonObject | boolean, value: Json) =>
  compileSchema(schema)
    .check(value)
    .map(({ path, message }) => `${path} ${message}`)

/** Generous: the machine may be busy. What must not happen takes minutes. */
const BOUND_MS = 20_000

export function inTime<T>(run: () => T): T {
  const started = performance.now()
  const result = run()
  assert.ok(performance.now() - started < BOUND_MS, 'took too long')
  return result
}

/** A value in 120 levels of others. */
export function nested(innermost: Json, wrap: (inner: Json, level: number) => Json): Json {
  return Array.from({ length: 120 }).reduce<Json>((inner, _, level) => wrap(inner, level), innermost)
}

export const DEFINITIONS = {
  leaf: { type: ['object', 'string'], properties: { a: { type: 'string' } } },
  list: {
    anyOf: [
      { type: 'array', items: { $ref: '#/$defs/leaf' } },
      { type: 'object', properties: { b: true } },
    ],
  },
}

export const text = { type: 'string' }
