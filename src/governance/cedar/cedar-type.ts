// JSON Schema as Cedar types, and JSON values as Cedar values. What Cedar cannot express is not in reach; what it
// cannot hold exactly is not handed over in a shortened form.
import type { CedarValueJson, TypeOfAttribute } from '@cedar-policy/cedar-wasm/nodejs'
import { parseDecimal } from '../../util/decimal.ts'
import { isJsonObject, type Json, type JsonObject } from '../../util/json.ts'
import { readSchema, type SchemaDocument } from '../../util/schema-document.ts'
import type { Schema } from '../../util/schema-keyword.ts'

type Scalar = 'String' | 'Long' | 'Boolean' | 'decimal'
export type CedarType =
  | { readonly kind: Scalar }
  | { readonly kind: 'Set'; readonly element: CedarType }
  | CedarRecord
export interface CedarRecord {
  readonly kind: 'Record'
  readonly fields: ReadonlyMap<string, { readonly type: CedarType; readonly required: boolean }>
}

/** A type, and whether null is allowed besides; a null is not there for Cedar. */
interface Found {
  readonly type?: CedarType
  readonly nullable: boolean
}

export const NOTHING: CedarRecord = Object.freeze({ kind: 'Record', fields: new Map() })

const MAX_DEPTH = 16
const MAX_SCHEMAS = 2_000
/** The engine would take a record with such a field for something else. */
const ESCAPES: ReadonlySet<string> = new Set(['__entity', '__extn', '__expr'])
const SCALARS: Readonly<Record<string, Scalar>> = Object.freeze({
  string: 'String',
  integer: 'Long',
  number: 'decimal',
  boolean: 'Boolean',
})

/** The input of an operation. Without a schema, or with one that describes no object, nothing of it is in reach. */
export function inputType(schema: JsonObject | undefined): CedarRecord {
  if (schema === undefined) return NOTHING
  const document = readSchema(schema)
  const { type } = createReader(document)(document.root, 0)
  return type?.kind === 'Record' ? type : NOTHING
}

function createReader(document: SchemaDocument): (schema: Schema, depth: number) => Found {
  let seen = 0

  function read(schema: Schema, depth: number): Found {
    if (typeof schema === 'boolean' || depth > MAX_DEPTH || ++seen > MAX_SCHEMAS) return { nullable: false }
    const together = [own(schema, depth)]
    for (const target of document.targets(schema)) together.push(read(target, depth + 1))
    for (const part of list(schema.allOf)) together.push(read(part, depth + 1))
    for (const choice of [list(schema.anyOf), list(schema.oneOf)]) {
      if (choice.length > 0) together.push(oneOf(choice.map((part) => read(part, depth + 1))))
    }
    return together.reduce(both)
  }

  function own(schema: JsonObject, depth: number): Found {
    const types =
      typeof schema.type === 'string' ? [schema.type] : (schema.type as readonly string[] | undefined)
    if (types === undefined) {
      if (isJsonObject(schema.properties)) return { type: record(schema, depth), nullable: false }
      return fromValues(
        'const' in schema ? [schema.const as Json] : (schema.enum as readonly Json[] | undefined),
      )
    }
    const nullable = types.includes('null')
    const [name, ...others] = types.filter((one) => one !== 'null')
    if (name === undefined) return { nullable }
    // An integer is a number: both together are numbers.
    if (others.length > 0) {
      const numbers = [name, ...others].every((one) => one === 'integer' || one === 'number')
      return numbers ? { type: { kind: 'decimal' }, nullable } : { nullable }
    }
    if (name === 'object') return { type: record(schema, depth), nullable }
    if (name === 'array') return { ...set(schema, depth), nullable }
    const kind = SCALARS[name]
    return kind === undefined ? { nullable } : { type: { kind }, nullable }
  }

  function record(schema: JsonObject, depth: number): CedarRecord {
    const required = (schema.required ?? []) as readonly string[]
    const properties = isJsonObject(schema.properties) ? Object.entries(schema.properties) : []
    const fields = properties.flatMap(([name, part]) => {
      if (ESCAPES.has(name) || !name.isWellFormed()) return []
      const { type, nullable } = read(part as Schema, depth + 1)
      return type === undefined
        ? []
        : [[name, { type, required: required.includes(name) && !nullable }] as const]
    })
    return { kind: 'Record', fields: new Map(fields) }
  }

  function set(schema: JsonObject, depth: number): { readonly type?: CedarType } {
    if (schema.items === undefined || schema.prefixItems !== undefined) return {}
    const { type, nullable } = read(schema.items as Schema, depth + 1)
    return type === undefined || nullable ? {} : { type: { kind: 'Set', element: type } }
  }

  return read
}

function list(value: Json | undefined): readonly Schema[] {
  return Array.isArray(value) ? (value as readonly Schema[]) : []
}

function fromValues(values: readonly Json[] | undefined): Found {
  if (values === undefined || values.length === 0) return { nullable: false }
  const kinds = values.filter((value) => value !== null).map(kindOf)
  const nullable = kinds.length < values.length
  const [kind] = kinds
  return kind !== undefined && kinds.every((one) => one === kind)
    ? { type: { kind }, nullable }
    : { nullable }
}

function kindOf(value: Json): Scalar | undefined {
  if (typeof value === 'string') return 'String'
  if (typeof value === 'boolean') return 'Boolean'
  if (typeof value === 'number') return Number.isInteger(value) ? 'Long' : 'decimal'
  return undefined
}

/** Both apply: what one of them says, or what both have in common. */
function both(one: Found, other: Found): Found {
  const nullable = one.nullable && other.nullable
  if (one.type === undefined || other.type === undefined) {
    const type = one.type ?? other.type
    return type === undefined ? { nullable } : { type, nullable: one.nullable || other.nullable }
  }
  if (one.type.kind === 'Record' && other.type.kind === 'Record') {
    const fields = new Map(other.type.fields)
    for (const [name, field] of one.type.fields) {
      const twin = fields.get(name)
      if (twin === undefined || same(twin.type, field.type)) {
        fields.set(name, { type: field.type, required: field.required || twin?.required === true })
      } else fields.delete(name)
    }
    return { type: { kind: 'Record', fields }, nullable }
  }
  return same(one.type, other.type) ? { type: one.type, nullable } : { nullable }
}

/** One of them applies: only what all of them say is known. */
function oneOf(choices: readonly Found[]): Found {
  const nullable = choices.some((choice) => choice.nullable)
  const typed = choices.filter((choice) => choice.type !== undefined || !choice.nullable)
  const [first] = typed
  if (first?.type === undefined) return { nullable }
  const { type } = first
  return typed.every((choice) => choice.type !== undefined && same(choice.type, type))
    ? { type, nullable }
    : { nullable }
}

function same(one: CedarType, other: CedarType): boolean {
  return JSON.stringify(typeToJson(one)) === JSON.stringify(typeToJson(other))
}

export function typeToJson(type: CedarType): TypeOfAttribute<string> {
  switch (type.kind) {
    case 'Set':
      return { type: 'Set', element: typeToJson(type.element) }
    case 'Record': {
      const attributes = [...type.fields].map(([name, { type: inner, required }]) => {
        return [name, { ...typeToJson(inner), required }] as const
      })
      return { type: 'Record', attributes: Object.fromEntries(attributes) }
    }
    case 'decimal':
      return { type: 'Extension', name: 'decimal' }
    default:
      return { type: type.kind }
  }
}

/** How many values may still be handed to the engine, which takes about 5 us for each. */
export interface Allowance {
  left: number
}

/** Of one call. No policy looks at more, and a call must not hold up all others. */
export const MAX_VALUES = 10_000

/** The value, or undefined where Cedar cannot hold it as it is. */
export function toCedar(
  value: Json | undefined,
  type: CedarType,
  allowance: Allowance = { left: MAX_VALUES },
): CedarValueJson | undefined {
  if (--allowance.left < 0) return undefined
  switch (type.kind) {
    case 'String':
      return typeof value === 'string' && value.isWellFormed() ? value : undefined
    case 'Boolean':
      return typeof value === 'boolean' ? value : undefined
    case 'Long':
      return Number.isSafeInteger(value) ? (value as number) : undefined
    case 'decimal': {
      const arg = typeof value === 'number' ? decimalText(value) : undefined
      return arg === undefined ? undefined : { __extn: { fn: 'decimal', arg } }
    }
    case 'Set':
      return Array.isArray(value) ? toSet(value, type.element, allowance) : undefined
    default:
      return isJsonObject(value) ? toRecord(value, type, allowance) : undefined
  }
}

function toSet(value: readonly Json[], element: CedarType, allowance: Allowance): CedarValueJson | undefined {
  const items: CedarValueJson[] = []
  for (const item of value) {
    const converted = toCedar(item, element, allowance)
    if (converted === undefined) return undefined
    items.push(converted)
  }
  return items
}

function toRecord(
  value: JsonObject,
  { fields }: CedarRecord,
  allowance: Allowance,
): CedarValueJson | undefined {
  const entries: [string, CedarValueJson][] = []
  for (const [name, { type, required }] of fields) {
    const inner = Object.hasOwn(value, name) ? value[name] : undefined
    if (!required && (inner === undefined || inner === null)) continue
    const converted = toCedar(inner, type, allowance)
    if (converted === undefined) return undefined
    entries.push([name, converted])
  }
  return Object.fromEntries(entries)
}

const PLACES = 4
const MAX_SCALED = 2n ** 63n - 1n

/** Cedar's decimals have four places and 64 bits. */
function decimalText(value: number): string | undefined {
  if (!Number.isFinite(value)) return undefined
  const { negative, digits, exponent } = parseDecimal(String(value))
  if (digits === '') return '0.0'
  if (exponent < -PLACES || exponent > 18) return undefined
  const scaled = BigInt(digits) * 10n ** BigInt(exponent + PLACES)
  if (scaled > MAX_SCALED) return undefined
  const text = String(scaled).padStart(PLACES + 1, '0')
  return `${negative ? '-' : ''}${text.slice(0, -PLACES)}.${text.slice(-PLACES)}`
}
