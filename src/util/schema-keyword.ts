// The keywords of JSON Schema 2020-12: what each must look like, and where each holds further schemas.
import { isJsonObject, type Json, type JsonObject } from './json.ts'

export type Schema = JsonObject | boolean

export interface SchemaKeyword {
  /** What its value must be, for people. */
  readonly expects: string
  readonly fits: (value: Json) => boolean
  /** How it holds schemas, if it does. */
  readonly holds?: 'one' | 'list' | 'map'
  /** Its schemas speak of the same value as the schema around them, not of a part of it. */
  readonly inPlace?: true
  /** It can make a value invalid; all others are annotations or places to refer to. */
  readonly asserts?: true
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'boolean' || isJsonObject(value)
}

const TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']

const isText = (value: Json) => typeof value === 'string'
const isFlag = (value: Json) => typeof value === 'boolean'
const isNumber = (value: Json) => typeof value === 'number'
const isCount = (value: Json) => typeof value === 'number' && Number.isInteger(value) && value >= 0
const isTextList = (value: Json) =>
  Array.isArray(value) &&
  value.every((item) => typeof item === 'string') &&
  new Set(value).size === value.length
const isType = (value: Json) => typeof value === 'string' && TYPES.includes(value)
const isMapOf = (fits: (value: Json) => boolean) => (value: Json) =>
  isJsonObject(value) && Object.values(value).every(fits)

const schema = { expects: 'a schema: an object or a boolean', fits: isSchema, holds: 'one' } as const
const schemaList = {
  expects: 'a list of at least one schema',
  fits: (value: Json) => Array.isArray(value) && value.length > 0 && value.every(isSchema),
  holds: 'list',
} as const
const schemaMap = { expects: 'an object of schemas', fits: isMapOf(isSchema), holds: 'map' } as const
const text = { expects: 'a string', fits: isText } as const
const flag = { expects: 'true or false', fits: isFlag } as const
const number = { expects: 'a number', fits: isNumber, asserts: true } as const
const count = { expects: 'a whole number from 0', fits: isCount, asserts: true } as const
const anything = { expects: 'anything', fits: () => true } as const
const anchor = {
  expects: 'a name of letters, digits, -, _ and .',
  fits: (value: Json) => typeof value === 'string' && /^[A-Za-z_][-A-Za-z0-9._]*$/.test(value),
} as const
const asserts = { asserts: true } as const
const inPlace = { asserts: true, inPlace: true } as const

/** Everything that is not in here is an annotation that nobody reads. */
export const SCHEMA_KEYWORDS: ReadonlyMap<string, SchemaKeyword> = new Map(
  Object.entries({
    $schema: text,
    $id: {
      expects: 'a URI without fragment',
      fits: (value) => typeof value === 'string' && /^[^#]*#?$/.test(value),
    },
    $anchor: anchor,
    $dynamicAnchor: anchor,
    $ref: text,
    $dynamicRef: text,
    $recursiveRef: text,
    $vocabulary: { expects: 'an object of booleans', fits: isMapOf(isFlag) },
    $comment: text,
    $defs: schemaMap,
    definitions: schemaMap,

    type: {
      expects: `one of ${TYPES.join(', ')}, or a list of them`,
      fits: (value) =>
        isType(value) ||
        (Array.isArray(value) &&
          value.length > 0 &&
          value.every(isType) &&
          new Set(value).size === value.length),
      ...asserts,
    },
    enum: { expects: 'a list of values', fits: (value) => Array.isArray(value), ...asserts },
    const: { ...anything, ...asserts },

    multipleOf: {
      expects: 'a number above 0',
      fits: (value) => typeof value === 'number' && value > 0,
      ...asserts,
    },
    maximum: number,
    exclusiveMaximum: number,
    minimum: number,
    exclusiveMinimum: number,

    maxLength: count,
    minLength: count,
    pattern: { ...text, ...asserts },
    format: { ...text, ...asserts },

    maxItems: count,
    minItems: count,
    uniqueItems: { ...flag, ...asserts },
    maxContains: count,
    minContains: count,
    prefixItems: { ...schemaList, ...asserts },
    items: { ...schema, ...asserts },
    contains: { ...schema, ...asserts },
    unevaluatedItems: { ...schema, ...asserts },

    maxProperties: count,
    minProperties: count,
    required: { expects: 'a list of different names', fits: isTextList, ...asserts },
    dependentRequired: { expects: 'an object of lists of names', fits: isMapOf(isTextList), ...asserts },
    properties: { ...schemaMap, ...asserts },
    patternProperties: { ...schemaMap, ...asserts },
    additionalProperties: { ...schema, ...asserts },
    unevaluatedProperties: { ...schema, ...asserts },
    propertyNames: { ...schema, ...asserts },

    allOf: { ...schemaList, ...inPlace },
    anyOf: { ...schemaList, ...inPlace },
    oneOf: { ...schemaList, ...inPlace },
    not: { ...schema, ...inPlace },
    if: { ...schema, ...inPlace },
    // biome-ignore lint/suspicious/noThenProperty: the keyword is called so; this object is never awaited
    then: { ...schema, ...inPlace },
    else: { ...schema, ...inPlace },
    dependentSchemas: { ...schemaMap, ...inPlace },
    dependencies: {
      expects: 'an object of schemas or lists of names',
      fits: isMapOf((value) => isSchema(value) || isTextList(value)),
      holds: 'map',
      ...inPlace,
    },

    title: text,
    description: text,
    default: anything,
    deprecated: flag,
    readOnly: flag,
    writeOnly: flag,
    examples: { expects: 'a list', fits: (value) => Array.isArray(value) },
    contentEncoding: text,
    contentMediaType: text,
    contentSchema: schema,
  } satisfies Record<string, SchemaKeyword>),
)

/** The schemas that one keyword of a node holds, with the rest of the way to each. */
export function heldSchemas(
  node: JsonObject,
  name: string,
  keyword: SchemaKeyword,
): [path: string[], Schema][] {
  const value = node[name]
  if (value === undefined || keyword.holds === undefined) return []
  if (keyword.holds === 'one') return isSchema(value) ? [[[name], value]] : []
  const entries = Object.entries(value as object) as [string, Json][]
  // Only `dependencies` mixes schemas with something else.
  return entries.flatMap(([key, item]) => (isSchema(item) ? [[[name, key], item] as [string[], Schema]] : []))
}
