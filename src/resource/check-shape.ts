// Checks a manifest against the schema of its kind, and says what is wrong in words of the manifest.
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import type { TSchema } from 'typebox'
import { didYouMean } from '../util/did-you-mean.ts'
import type { Json } from '../util/json.ts'
import { splitPointer } from '../util/pointer.ts'
import type { Path } from './problem.ts'

export interface ShapeProblem {
  readonly path: Path
  /** Whether the name itself is wrong, or its value. */
  readonly on: 'key' | 'value'
  readonly message: string
  readonly fix?: string
}

interface SchemaNode {
  readonly type?: string
  readonly expected?: string
  readonly properties?: Readonly<Record<string, unknown>>
  readonly patternProperties?: Readonly<Record<string, unknown>>
}

/** All problems, in the order of the schema. */
export type ShapeCheck = (manifest: Json) => readonly ShapeProblem[]

/**
 * Nothing is kept between two checks: the errors are taken at once. `names` are spellings beside those of the schema;
 * `hides`: no message repeats a value.
 */
export function createShapeCheck(
  schema: TSchema,
  names: (parent: Path) => readonly string[],
  hides = false,
): ShapeCheck {
  // Compiled at the first check: most processes read manifests of few kinds, and compiling all took a quarter of their start.
  let compiled: ValidateFunction | undefined
  return (manifest) => {
    compiled ??= compile(schema)
    const validate = compiled
    if (validate(manifest)) return []
    return withoutUnionNoise(validate.errors ?? []).flatMap((error) => describe(error, names, hides))
  }
}

/** The schemas are ours, and a test holds them to the strict rules: checking them again would treble the time it takes. */
function compile(schema: TSchema): ValidateFunction {
  const ajv = new Ajv2020({
    allErrors: true,
    verbose: true,
    strict: false,
    validateSchema: false,
    meta: false,
    code: { optimize: false },
  })
  return ajv.compile(schema)
}

/** The branches of a union that the value is not even the type of say nothing about it. */
function withoutUnionNoise(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  let kept = errors
  for (const union of errors) {
    if (union.keyword !== 'anyOf') continue
    const branchOf = (error: ErrorObject) => {
      const inside = isInside(error, union) && error.schemaPath.startsWith(`${union.schemaPath}/`)
      return inside ? error.schemaPath.slice(union.schemaPath.length + 1).split('/')[0] : undefined
    }
    const mismatched = new Set<string | undefined>()
    for (const error of errors) {
      const whole = error.instancePath === union.instancePath
      const mismatch =
        whole && (error.keyword === 'type' || error.keyword === 'enum' || error.keyword === 'anyOf')
      if (mismatch) mismatched.add(branchOf(error))
    }
    const telling = errors.some((error) => branchOf(error) !== undefined && !mismatched.has(branchOf(error)))
    kept = kept.filter((error) => {
      if (error === union) return !telling
      const branch = branchOf(error)
      return branch === undefined || (telling && !mismatched.has(branch))
    })
  }
  return kept
}

/** The same alternative of a list is tried once for each item: errors of other items are not this union's. */
function isInside(error: ErrorObject, union: ErrorObject): boolean {
  return error.instancePath === union.instancePath || error.instancePath.startsWith(`${union.instancePath}/`)
}

function describe(
  error: ErrorObject,
  names: (parent: Path) => readonly string[],
  hides: boolean,
): ShapeProblem {
  const path = splitPointer(error.instancePath)?.map(toIndex) ?? []
  const schema = (error.parentSchema ?? {}) as SchemaNode
  const params = error.params as Readonly<Record<string, unknown>>
  switch (error.keyword) {
    case 'additionalProperties':
      return unknownField(path, String(params.additionalProperty), schema, names(path))
    case 'required':
      return {
        path: [...path, String(params.missingProperty)],
        on: 'key',
        message: 'is missing',
        fix: 'add it',
      }
    case 'enum':
      return notOneOf(path, error.data, params.allowedValues as readonly string[])
    case 'type':
    case 'anyOf':
      return wrongType(path, error.data, schema, hides)
    case 'minItems':
    case 'minProperties':
    case 'minLength':
      return { path, on: 'value', message: 'must not be empty', fix: 'give it a value, or remove it' }
    case 'pattern':
      return { path, on: 'value', message: `must match ${String(params.pattern)}` }
    default:
      return { path, on: 'value', message: error.message ?? 'is not valid' }
  }
}

/** List indexes come as text; a map may have names that look like them, but none of ours is reported that way. */
function toIndex(segment: string): string | number {
  return /^(?:0|[1-9]\d{0,8})$/.test(segment) ? Number(segment) : segment
}

function unknownField(
  path: Path,
  name: string,
  schema: SchemaNode,
  aliases: readonly string[],
): ShapeProblem {
  const at = [...path, name]
  if (schema.patternProperties !== undefined) {
    const message =
      'is no valid name: use letters, digits, `.`, `_` and `-`, at most 128, starting with a letter or digit'
    return { path: at, on: 'key', message, fix: 'rename it' }
  }
  const known = Object.keys(schema.properties ?? {})
  const meant = OTHER_WORDS.get(name.toLowerCase())
  const guess = didYouMean(name, [...known, ...aliases]) ?? (known.includes(meant ?? '') ? meant : undefined)
  const fix = guess === undefined ? `remove it; known here: ${known.join(', ')}` : `did you mean ${guess}?`
  return { path: at, on: 'key', message: 'is not a known field', fix }
}

/** What other products call it; not similar enough to be guessed. */
const OTHER_WORDS: ReadonlyMap<string, string> = new Map([
  ['url', 'endpoint'],
  ['uri', 'endpoint'],
])

function notOneOf(path: Path, value: unknown, allowed: readonly string[]): ShapeProblem {
  if (value === null) return empty(path)
  const guess = typeof value === 'string' ? didYouMean(value, allowed) : undefined
  const message = `must be ${allowed.length > 1 ? 'one of ' : ''}${allowed.join(', ')}; it is ${shown(value)}`
  return {
    path,
    on: 'value',
    message,
    fix: guess === undefined ? 'use one of these' : `did you mean ${guess}?`,
  }
}

function wrongType(path: Path, value: unknown, schema: SchemaNode, hides: boolean): ShapeProblem {
  if (value === null) return empty(path)
  const wanted = schema.expected ?? TYPE_WORDS.get(schema.type ?? '') ?? schema.type ?? 'something else'
  // What was put where a credential is named may be the credential.
  const hidden = hides || path.includes('auth') || path.includes('env')
  return {
    path,
    on: 'value',
    message: `must be ${wanted}; it is ${hidden ? 'something else' : shown(value)}`,
  }
}

function empty(path: Path): ShapeProblem {
  return { path, on: 'key', message: 'is empty', fix: 'give it a value, or remove the line' }
}

const TYPE_WORDS: ReadonlyMap<string, string> = new Map([
  ['object', 'a map of fields'],
  ['array', 'a list'],
  ['string', 'text'],
  ['integer', 'a whole number'],
  ['number', 'a number'],
  ['boolean', 'true or false'],
])

/** Long and structured values are named by their type: a message is one line, and may not repeat a secret block. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a map'
  if (typeof value !== 'string') return String(value)
  return value.length <= 40 ? `'${value}'` : 'a longer text'
}
