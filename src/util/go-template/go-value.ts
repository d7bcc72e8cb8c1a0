// What a template works on: the values that Go has after reading JSON, and the few that its own constants and functions
// make.
import type { Json, JsonObject } from '../json.ts'
import { toBytes } from './go-text.ts'

interface Traced {
  /**
   * How many bytes at the beginning of the printed value are known to have been written in the template. 0 where any of it
   * may depend on input.
   */
  readonly literal: number
}

/** All of the value was written in the template. */
export const LITERAL: number = Number.POSITIVE_INFINITY

/** Go's slice: a window into an array. It may be widened again up to its capacity. */
export interface Slice {
  readonly kind: 'slice'
  readonly array: readonly Json[]
  readonly start: number
  readonly length: number
  readonly capacity: number
}

export type Value = Traced &
  /** Nothing at all: a missing key, or a nil that went through a pipeline. */
  (
    | { readonly kind: 'none' }
    /** JSON's null, where it lies. Unlike nothing at all, it has no fields to look for. */
    | { readonly kind: 'nil' }
    | { readonly kind: 'bool'; readonly value: boolean }
    | { readonly kind: 'int' | 'uint8'; readonly value: bigint }
    | { readonly kind: 'float64'; readonly value: number }
    | { readonly kind: 'complex128'; readonly real: number; readonly imaginary: number }
    /** A byte string. */
    | { readonly kind: 'string'; readonly value: string }
    | { readonly kind: 'map'; readonly fields: JsonObject }
    | Slice
  )

export type ValueKind = Value['kind']

export const NONE: Value = Object.freeze({ kind: 'none', literal: LITERAL })

const TYPE_NAMES: Readonly<Record<ValueKind, string>> = {
  none: 'nil',
  nil: 'nil',
  bool: 'bool',
  int: 'int',
  uint8: 'uint8',
  float64: 'float64',
  complex128: 'complex128',
  string: 'string',
  map: 'map[string]interface {}',
  slice: '[]interface {}',
}

/** As Go spells the type. */
export const typeName = (value: Value): string => TYPE_NAMES[value.kind]

export const isNothing = (value: Value): boolean => value.kind === 'none' || value.kind === 'nil'

export const boolValue = (value: boolean, literal: number): Value => ({ kind: 'bool', value, literal })
export const intValue = (value: number, literal: number): Value => ({
  kind: 'int',
  value: BigInt(value),
  literal,
})
export const stringValue = (value: string, literal: number): Value => ({ kind: 'string', value, literal })

/** What was computed of these is from the template when all of them are. */
export function jointLiteral(values: readonly Value[]): number {
  return values.every(({ literal }) => literal === LITERAL) ? LITERAL : 0
}

export function fromJson(json: Json | undefined): Value {
  if (json === undefined || json === null) return { kind: 'nil', literal: 0 }
  if (typeof json === 'boolean') return boolValue(json, 0)
  if (typeof json === 'number') return { kind: 'float64', value: json, literal: 0 }
  if (typeof json === 'string') return stringValue(toBytes(json), 0)
  if (isList(json)) {
    return { kind: 'slice', array: json, start: 0, length: json.length, capacity: json.length, literal: 0 }
  }
  return { kind: 'map', fields: json, literal: 0 }
}

function isList(json: Json): json is readonly Json[] {
  return Array.isArray(json)
}

export function itemAt(slice: Slice, at: number): Value {
  return fromJson(slice.array[slice.start + at])
}

export interface MapEntry {
  /** A byte string. */
  readonly key: string
  readonly json: Json
}

/** In the order of their bytes. */
export function sortedEntries(fields: JsonObject): readonly MapEntry[] {
  return Object.entries(fields)
    .map(([key, json]) => ({ key: toBytes(key), json }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
}

/** What it costs to look at the value once, in steps. */
export function costOf(value: Value): number {
  return value.kind === 'string' ? Math.floor(value.value.length / 64) : 0
}
