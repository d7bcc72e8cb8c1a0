// From the errors of the validation engine to what a person is told. Messages hold names and schema, never input.
import type { ErrorObject } from 'ajv/dist/2020.js'
import { didYouMean } from './did-you-mean.ts'
import { UNKNOWN } from './engine-schema.ts'
import type { Json } from './json.ts'
import { isTooLong, MAX_FORMAT_LENGTH } from './schema-format.ts'
import { equalItems } from './validation-engine.ts'

const MAX_LISTED = 12
const MAX_TEXT = 64
const MAX_SUGGESTED = 32
const MAX_CANDIDATES = 200

/** Says nothing of its own: the errors beside it do. */
export const SUMMARY_KEYWORDS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'if', 'propertyNames'])

export function messageOf(error: ErrorObject): string {
  const message = plainMessage(error)
  return error.propertyName === undefined
    ? message
    : `has the key ${quote(error.propertyName)}, which ${message}`
}

function typeMessage(types: readonly string[]): string {
  const names = types.map((type) =>
    /^[aio]/.test(type) ? `an ${type}` : type === 'null' ? type : `a ${type}`,
  )
  return `must be ${names.join(' or ')}`
}

export function unknownFieldMessage(name: string, known: readonly string[]): string {
  const close = suggestion(name, known)
  if (close !== undefined) return `is not a known field: did you mean ${quote(close)}?`
  if (known.length === 0) return 'is not a known field'
  return `is not a known field: the known ones are ${listed(known.map(quote))}`
}

/** Bounded, because both the words and the list may come from outside. */
function suggestion(word: string, known: readonly string[]): string | undefined {
  return word.length <= MAX_SUGGESTED ? didYouMean(word, known.slice(0, MAX_CANDIDATES)) : undefined
}

export function quote(name: string): string {
  return `'${name.length > MAX_TEXT ? `${name.slice(0, MAX_TEXT).toWellFormed()}…` : name}'`
}

function plainMessage({ data, instancePath, keyword, params, parentSchema, schema }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return typeMessage([schema].flat() as string[])
    case UNKNOWN:
      if (schema === null) return 'is an item too many'
      return unknownFieldMessage(lastSegment(instancePath), schema as string[])
    case 'required':
      return `is missing the field ${quote(params.missingProperty)}`
    case 'dependentRequired':
    case 'dependencies':
      return `is missing the field ${quote(params.missingProperty)}, which ${quote(params.property)} needs`
    case 'enum':
      return enumMessage(schema as readonly Json[], data)
    case 'const':
      return `must be ${shown(schema as Json)}`
    case 'minimum':
      return `must be at least ${schema}`
    case 'exclusiveMinimum':
      return `must be more than ${schema}`
    case 'maximum':
      return `must be at most ${schema}`
    case 'exclusiveMaximum':
      return `must be less than ${schema}`
    case 'multipleOf':
      return `must be a multiple of ${schema}`
    case 'minLength':
      return `must have at least ${counted(schema, 'character')}`
    case 'maxLength':
      return `must have at most ${counted(schema, 'character')}`
    case 'pattern':
      return `must match the pattern ${quote(String(schema))}`
    case 'format':
      return `must be a valid ${schema}${isTooLong(String(schema), data) ? ` of at most ${MAX_FORMAT_LENGTH} characters` : ''}`
    case 'minItems':
      return `must have at least ${counted(schema, 'item')}`
    case 'maxItems':
    case 'items':
      return `must have at most ${counted(params.limit, 'item')}`
    case 'uniqueItems': {
      const [first, second] = equalItems(data as readonly Json[]) ?? []
      return `must not have equal items, but those at ${first} and ${second} are`
    }
    case 'contains':
      return containsMessage(parentSchema?.minContains ?? 1, parentSchema?.maxContains)
    case 'minProperties':
      return `must have at least ${counted(schema, 'field')}`
    case 'maxProperties':
      return `must have at most ${counted(schema, 'field')}`
    case 'not':
      return 'has a shape that is excluded'
    case 'anyOf':
      return `matches none of the ${counted((schema as unknown[]).length, 'allowed shape')}`
    case 'oneOf':
      return params.passingSchemas === null
        ? `matches none of the ${counted((schema as unknown[]).length, 'allowed shape')}`
        : 'matches more than one of the allowed shapes, and must match exactly one'
    case 'if':
      return 'does not have the shape that its other fields ask for'
    case 'false schema':
      return 'must not be there'
    default:
      return `breaks the rule ${quote(keyword)}`
  }
}

function enumMessage(values: readonly Json[], data: unknown): string {
  const texts = values.filter((value) => typeof value === 'string')
  const close = typeof data === 'string' ? suggestion(data, texts) : undefined
  const hint = close === undefined ? '' : `: did you mean ${shown(close)}?`
  return values.length === 1
    ? `must be ${shown(values[0] ?? null)}${hint}`
    : `must be one of ${listed(values.map(shown))}${hint}`
}

function containsMessage(least: number, most: number | undefined): string {
  const bounds = most === undefined ? `at least ${least}` : `${least} to ${most}`
  return `must have ${bounds} of the items that are asked for`
}

function counted(count: unknown, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function listed(texts: readonly string[]): string {
  const more = texts.length - MAX_LISTED
  return more > 0 ? `${texts.slice(0, MAX_LISTED).join(', ')} and ${more} more` : texts.join(', ')
}

function shown(value: Json): string {
  const text = JSON.stringify(value)
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT).toWellFormed()}…` : text
}

function lastSegment(path: string): string {
  return path
    .slice(path.lastIndexOf('/') + 1)
    .replaceAll('~1', '/')
    .replaceAll('~0', '~')
}
