// The validation engine (Ajv), set up so that no schema and no value can make it slow, large or wrong.
//
// One engine is made per schema: an engine keeps everything it ever compiled, and names would meet in it.
import {
  _,
  Ajv2020,
  type CodeKeywordDefinition,
  type ErrorObject,
  type KeywordCxt,
  Name,
} from 'ajv/dist/2020.js'
import { Type } from 'ajv/dist/compile/util.js'
import { canonicalJson } from './canonical.ts'
import { isMultiple } from './decimal.ts'
import { type EngineSchema, STEP, UNKNOWN } from './engine-schema.ts'
import type { Json, JsonObject } from './json.ts'
import type { SchemaDocument } from './schema-document.ts'
import { SCHEMA_FORMATS } from './schema-format.ts'
import type { Schema } from './schema-keyword.ts'
import { createSchemaShapes, type SchemaShapes } from './schema-shape.ts'
import { unevaluatedFields, unevaluatedItems } from './unevaluated.ts'
import type { Work } from './work.ts'

export interface ValidationEngine {
  /** Undefined when valid. Throws `WorkStop` when `work` is used up; what it carries are the errors so far. */
  run(value: Json): readonly ErrorObject[] | undefined
  /** What the schemas say, and which of them apply to a value. */
  readonly shapes: SchemaShapes
}

export interface ValidationEngineOptions {
  /** Finds everything that is wrong; otherwise the first thing ends the run. */
  readonly allErrors: boolean
  readonly work: Work
  /** Those of another engine for the same schema, whose answers are then used. */
  readonly shapes?: SchemaShapes
}

/** Past this many errors a run is stopped: they cost memory, and nobody reads them. */
const MAX_ERRORS = 1_000

/** Characters times pattern size that count as one step; measured at about a nanosecond each. */
const MATCHES_PER_STEP = 128

const ID = 'writ'

export function createValidationEngine(
  document: SchemaDocument,
  { definitionOf, schema, sourceOf }: EngineSchema,
  { allErrors, shapes: given, work }: ValidationEngineOptions,
): ValidationEngine {
  const linear = Object.assign(
    (source: string) => {
      const pattern = document.pattern(source)
      return {
        test(text: string) {
          work.spend((text.length * pattern.size) / MATCHES_PER_STEP)
          return pattern.test(text)
        },
        // The engine keeps patterns apart by this.
        toString: () => source,
      }
    },
    { code: 'linear' },
  )
  const ajv = new Ajv2020({
    allErrors,
    // Its optimizer may drop a declaration that `contains` inside of alternatives still needs.
    code: { regExp: linear, optimize: false },
    formats: SCHEMA_FORMATS as Record<string, never>,
    // A definition is compiled once, however often it is referred to: inlined it could grow past all bounds.
    inlineRefs: false,
    logger: false,
    // The schema was checked when it was read.
    meta: false,
    validateSchema: false,
    // `toString` is a field like any other.
    ownProperties: true,
    strict: false,
    verbose: true,
  })
  // Both are settled before the engine sees the schema, and would only cost time.
  ajv.opts.unevaluated = false
  ajv.opts.dynamicRef = false

  function matches(node: Schema, value: Json): boolean {
    if (typeof node === 'boolean') return node
    let test = tests.get(node)
    if (test === undefined) {
      const definition = definitionOf.get(node)
      if (definition === undefined) throw new Error('no definition was made for an alternative')
      test = compiled(ajv, `${ID}#/$defs/${definition}`)
      tests.set(node, test)
    }
    return test(value)
  }
  const tests = new Map<JsonObject, (value: Json) => boolean>()
  const shapes = given ?? createSchemaShapes({ document, matches, step: () => work.spend(1) })

  const partKeywords = [
    partKeyword('unevaluatedProperties', 'object', sourceOf, (node, value: JsonObject) =>
      unevaluatedFields(node, value, shapes),
    ),
    partKeyword('unevaluatedItems', 'array', sourceOf, (node, value: readonly Json[]) =>
      unevaluatedItems(node, value, shapes),
    ),
  ]
  for (const keyword of [
    ...VALUE_KEYWORDS,
    ...partKeywords,
    PREFIX_ITEMS,
    containsKeyword(sourceOf, shapes),
  ]) {
    ajv.removeKeyword(keyword.keyword as string)
    ajv.addKeyword(keyword)
  }
  ajv.addKeyword(createStep(work))
  ajv.addKeyword({ keyword: UNKNOWN, code: (cxt) => cxt.fail(_`true`) })
  ajv.addSchema(schema, ID)
  const validate = compiled(ajv, ID)

  return {
    shapes,
    run(value) {
      const valid = validate(value)
      const errors = validate.errors
      validate.errors = null
      return valid ? undefined : (errors ?? [])
    },
  }
}

function compiled(ajv: Ajv2020, key: string) {
  const validate = ajv.getSchema<Json>(key)
  if (validate === undefined || '$async' in validate) throw new Error(`not compiled: ${key}`)
  return validate
}

const ERRORS = new Name('errors')
const FOUND = new Name('vErrors')

/** Runs before all else in every definition and every loop. */
function createStep(work: Work): CodeKeywordDefinition {
  return {
    keyword: STEP,
    before: '$ref',
    code({ gen }) {
      const name = gen.scopeValue('obj', { ref: work })
      gen.if(_`--${name}.left < 0 || ${ERRORS} > ${MAX_ERRORS}`, () => gen.throw(_`${name}.stop(${FOUND})`))
    },
  }
}

function valueKeyword(
  keyword: string,
  type: 'number' | 'array' | undefined,
  compile: (schema: never) => (value: never) => boolean,
): CodeKeywordDefinition {
  return {
    keyword,
    ...(type === undefined ? {} : { type }),
    code(cxt) {
      const test = cxt.gen.scopeValue('func', { ref: compile(cxt.schema as never) })
      cxt.fail(_`!${test}(${cxt.data})`)
    },
  }
}

/** The engine's own compare every item with every other, call `valueOf` of a value, or divide in binary. */
const VALUE_KEYWORDS: readonly CodeKeywordDefinition[] = Object.freeze([
  valueKeyword('enum', undefined, (values: readonly Json[]) => {
    const plain = new Set(values.filter((value) => typeof value !== 'object' || value === null))
    const deep = new Set(
      values.filter((value) => typeof value === 'object' && value !== null).map(canonicalJson),
    )
    return (value: Json) =>
      typeof value === 'object' && value !== null
        ? deep.size > 0 && deep.has(canonicalJson(value))
        : plain.has(value)
  }),
  valueKeyword('const', undefined, (constant: Json) => {
    if (typeof constant !== 'object' || constant === null) return (value: Json) => value === constant
    const text = canonicalJson(constant)
    return (value: Json) => typeof value === 'object' && value !== null && canonicalJson(value) === text
  }),
  valueKeyword(
    'uniqueItems',
    'array',
    (wanted: boolean) => (items: readonly Json[]) => !wanted || equalItems(items) === undefined,
  ),
  valueKeyword('multipleOf', 'number', (step: number) => (value: number) => isMultiple(value, step)),
])

/** The places of the first two equal items; in one pass over canonical texts. */
export function equalItems(items: readonly Json[]): readonly [number, number] | undefined {
  const plain = new Map<Json, number>()
  const deep = new Map<string, number>()
  for (const [index, item] of items.entries()) {
    const isDeep = typeof item === 'object' && item !== null
    const seen = isDeep ? deep : plain
    const key = isDeep ? canonicalJson(item) : item
    const earlier = seen.get(key as never)
    if (earlier !== undefined) return [earlier, index]
    seen.set(key as never, index)
  }
  return undefined
}

/** The engine's own leaves out all keywords after it when the array is shorter. */
const PREFIX_ITEMS: CodeKeywordDefinition = Object.freeze({
  keyword: 'prefixItems',
  type: 'array',
  schemaType: ['array'],
  before: 'items',
  trackErrors: true,
  code(cxt) {
    const { data, errsCount, gen, schema } = cxt
    for (const index of (schema as Schema[]).keys()) {
      gen.if(_`${data}.length > ${index}`, () => {
        cxt.subschema({ keyword: 'prefixItems', schemaProp: index, dataProp: index }, gen.name('valid'))
      })
    }
    cxt.ok(_`${errsCount} === ${ERRORS}`)
  },
} satisfies CodeKeywordDefinition)

/** The engine's own takes an empty array for the one that it looked at before. */
function containsKeyword(sourceOf: SourceOf, shapes: SchemaShapes): CodeKeywordDefinition {
  return {
    keyword: 'contains',
    type: 'array',
    code(cxt) {
      const wanted = sourceNode(cxt, sourceOf).contains as Schema
      const { maxContains = Number.POSITIVE_INFINITY, minContains = 1 } = cxt.parentSchema
      const test = (items: readonly Json[]) => {
        let found = 0
        for (const item of items) if (shapes.matches(wanted, item) && ++found > maxContains) return false
        return found >= minContains
      }
      cxt.fail(_`!${cxt.gen.scopeValue('func', { ref: test })}(${cxt.data})`)
    },
  }
}

type SourceOf = EngineSchema['sourceOf']

function sourceNode({ keyword, parentSchema }: KeywordCxt, sourceOf: SourceOf): JsonObject {
  const node = sourceOf.get(parentSchema)
  if (node === undefined) throw new Error(`no source for ${keyword}`)
  return node
}

/** Applies a schema to those fields or items that `select` names. */
function partKeyword(
  keyword: 'unevaluatedProperties' | 'unevaluatedItems',
  type: 'object' | 'array',
  sourceOf: SourceOf,
  select: (node: JsonObject, value: never) => readonly (string | number)[],
): CodeKeywordDefinition {
  return {
    keyword,
    type,
    schemaType: ['boolean', 'object'],
    trackErrors: true,
    code(cxt) {
      const { data, errsCount, gen, it, schema } = cxt
      const node = sourceNode(cxt, sourceOf)
      if (schema === true) return
      const selected = gen.scopeValue('func', { ref: (value: never) => select(node, value) })
      gen.forOf('part', _`${selected}(${data})`, (part) => {
        const valid = gen.name('valid')
        cxt.subschema(
          { keyword, dataProp: part, dataPropType: type === 'object' ? Type.Str : Type.Num },
          valid,
        )
        if (!it.allErrors) gen.if(_`!${valid}`, () => gen.break())
      })
      cxt.ok(_`${errsCount} === ${ERRORS}`)
    },
  }
}
