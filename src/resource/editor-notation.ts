// What editors are told of values that are read in several notations: everything that is read is accepted.
import type { ReadRule } from './field-row.ts'

/** A schema of draft-07 under construction. */
export interface Draft {
  [keyword: string]: unknown
  properties?: Record<string, Draft>
  patternProperties?: Record<string, Draft>
  items?: Draft
  anyOf?: Draft[]
  allOf?: Draft[]
  required?: string[]
  enum?: readonly unknown[]
}

const DURATION = '^\\s*(?:0|(?:(?:\\d+(?:\\.\\d*)?|\\.\\d+)(?:ns|us|µs|μs|ms|s|m|h))+)\\s*$'
const SIZE = '^\\s*\\d{1,15}(?:[kKmMgG][iI]?[bB]?|[bB])?\\s*$'
const RATE = '^\\s*\\d{1,9}\\s*/\\s*\\w+\\s*$'
const PATTERNS: ReadonlyMap<unknown, string> = new Map([
  ['duration', DURATION],
  ['size', SIZE],
  ['rate', RATE],
])

/** The texts of a notation have its pattern. In a rate the time may be a bare unit, as in {max: 10, per: s}. */
export function withNotation(notation: unknown, expected: unknown, draft: Draft): Draft {
  const pattern = PATTERNS.get(notation)
  if (pattern === undefined) return draft
  // Language servers show it in place of the pattern.
  const text = { pattern, patternErrorMessage: `must be ${String(expected)}` }
  const texts = draft.type === 'string' ? { ...draft, ...text } : draft
  if (notation === 'rate') {
    for (const branch of draft.anyOf ?? []) delete branch.properties?.per?.pattern
  }
  if (texts.anyOf === undefined) return texts
  return { ...texts, anyOf: texts.anyOf.map((one) => (one.type === 'string' ? { ...one, ...text } : one)) }
}

/** What a rule takes at its own place beside what the schema says. */
export function withRule(rule: ReadRule | undefined, draft: Draft): Draft {
  switch (rule) {
    case 'lower':
      return loosened(draft, letters)
    case 'jitter':
      return either(loosened(draft, letters), { type: 'boolean' })
    case 'backoff':
      return either(draft, { type: 'string', pattern: whole([letters('exponential')]) })
    case 'profile':
      return loosened(draft, letters, ['bearer_token'])
    case 'effect-class':
      return loosened(draft, (name) => letters(name).replaceAll('-', '[\\s_-]+'), CLASSES)
    case 'decision':
      return loosened(draft, (name) => letters(name).replaceAll('-', '[_-]'), ['approval-required'])
    default:
      return draft
  }
}

const CLASSES = ['financial-or-high-impact', 'financial', 'high-impact']

/** What an alias with such a rule takes beside what its field does. */
export function aliasForms(rule: ReadRule | undefined, field: Draft): readonly Draft[] {
  const only = (names: readonly string[], value: Draft): Draft => ({
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, value])),
    additionalProperties: false,
    minProperties: 1,
    maxProperties: 1,
  })
  const count: Draft = { type: 'integer', minimum: 1 }
  const names: Draft = { type: 'array', items: { type: 'string' } }
  switch (rule) {
    case 'seconds':
    case 'milliseconds':
      return [{ type: 'number', minimum: 0 }]
    case 'megabytes':
      return [count]
    case 'concurrency':
      return [only(['max', 'maxConcurrent', 'limit'], count)]
    case 'rate': {
      const units = ['perSecond', 'perMinute', 'perHour']
      const spelled = only([...units, ...units.map((unit) => `requestsP${unit.slice(1)}`)], count)
      return [spelled, { type: 'array', minItems: 1, maxItems: 1, items: { anyOf: [field, spelled] } }]
    }
    case 'egress':
      return [
        names,
        { enum: ['none', 'deny', 'deny-all'] },
        only(['allow', 'allowlist', 'allowedHosts', 'allowedOrigins'], names),
      ]
    default:
      return []
  }
}

/** Whatever its case. */
export function anyCase(names: readonly string[]): Draft {
  return { type: 'string', pattern: whole(names.map(letters)) }
}

/** The names stay an enumeration, which editors offer; other ways to write them are accepted beside it. */
function loosened(draft: Draft, spelled: (name: string) => string, more: readonly string[] = []): Draft {
  if (draft.items !== undefined) return { ...draft, items: loosened(draft.items, spelled, more) }
  const { enum: names, ...rest } = draft
  if (names === undefined) return draft
  const pattern = whole([...names.map(String), ...more].map(spelled))
  return { ...rest, anyOf: [{ enum: names }, { type: 'string', pattern }] }
}

function either(draft: Draft, other: Draft): Draft {
  return draft.anyOf === undefined ? { anyOf: [draft, other] } : { ...draft, anyOf: [...draft.anyOf, other] }
}

function whole(patterns: readonly string[]): string {
  return `^\\s*(?:${patterns.join('|')})\\s*$`
}

/** Patterns of draft-07 have no flags. */
function letters(name: string): string {
  return name
    .replaceAll(/[.*+?^$()[\]{}|\\]/g, '\\$&')
    .replaceAll(/[a-z]/gi, (letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`)
}
