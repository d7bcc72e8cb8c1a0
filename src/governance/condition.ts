// Literal comparisons on the input. What cannot be judged restricts, and never permits.
import type { Condition } from '../resource/resolved-governance.ts'
import { canonicalJson } from '../util/canonical.ts'
import type { Json, JsonObject } from '../util/json.ts'
import { writeOnlyPaths } from '../util/json-schema.ts'
import { mailDomain } from '../util/mail-domain.ts'
import { readPointer } from '../util/pointer.ts'

/** For what restricts: a comparison that cannot be made (another type, nothing there) counts as true. */
export function fires(condition: Condition, input: Json | undefined): boolean {
  return judge(condition, readPointer(input, condition.field)) !== false
}

/** For what permits: a comparison that cannot be made counts as false. */
export function holds(condition: Condition, input: Json | undefined): boolean {
  return judge(condition, readPointer(input, condition.field)) === true
}

/** Undefined: it cannot be judged. */
export type Judge = (actual: Json | undefined) => boolean | undefined

export function judge(condition: Omit<Condition, 'field'>, actual: Json | undefined): boolean | undefined {
  return judgeOf(condition)(actual)
}

/** The comparison alone, for rules that are asked often. */
export function judgeOf({ op, value }: Omit<Condition, 'field'>): Judge {
  switch (op) {
    case 'exists':
      return (actual) => (actual !== undefined) === (value !== false)
    case 'eq':
      return (actual) => same(actual, value)
    case 'ne':
      return (actual) => !same(actual, value) && (typeOf(actual) === typeOf(value) || undefined)
    case 'in':
      return Array.isArray(value) ? isIn(value) : () => undefined
    case 'not_in': {
      if (!Array.isArray(value)) return () => undefined
      const isThere = isIn(value)
      const types = new Set(value.map(typeOf))
      return (actual) => !isThere(actual) && (types.has(typeOf(actual)) || undefined)
    }
    case 'in_domain':
      return Array.isArray(value) ? inDomain(value) : () => undefined
    case 'not_in_domain': {
      if (!Array.isArray(value)) return () => undefined
      const isInside = inDomain(value)
      return (actual) => not(isInside(actual))
    }
    default:
      return typeof value === 'number' || typeof value === 'string' ? ordered(op, value) : () => undefined
  }
}

/** Of one mail address, or of each of a list of them: one outside is enough, and one that is none leaves it open. */
function inDomain(domains: readonly Json[]): Judge {
  const known = new Set<Json>(domains)
  const one = (actual: Json | undefined): boolean | undefined => {
    const domain = typeof actual === 'string' ? mailDomain(actual) : undefined
    return domain === undefined ? undefined : known.has(domain)
  }
  return (actual) => {
    if (!Array.isArray(actual)) return one(actual)
    if (actual.length === 0) return undefined
    const each = actual.map(one)
    if (each.includes(false)) return false
    return each.includes(undefined) ? undefined : true
  }
}

function not(judged: boolean | undefined): boolean | undefined {
  return judged === undefined ? undefined : !judged
}

/** Numbers among numbers, texts among texts. */
function ordered(op: 'gt' | 'gte' | 'lt' | 'lte', value: number | string): Judge {
  const type = typeof value
  const known = <T>(actual: T): actual is T & (number | string) => typeof actual === type
  if (op === 'gt') return (actual) => (known(actual) ? actual > value : undefined)
  if (op === 'gte') return (actual) => (known(actual) ? actual >= value : undefined)
  if (op === 'lt') return (actual) => (known(actual) ? actual < value : undefined)
  return (actual) => (known(actual) ? actual <= value : undefined)
}

function isIn(values: readonly Json[]): (actual: Json | undefined) => boolean {
  const others = values.filter((one) => typeof one === 'object')
  const isOther = (actual: Json | undefined) =>
    typeof actual === 'object' && others.some((one) => same(actual, one))
  if (values.length > FEW) {
    const known = new Set<Json | undefined>(values)
    return (actual) => known.has(actual) || isOther(actual)
  }
  return (actual) => {
    for (const one of values) if (one === actual) return true
    return isOther(actual)
  }
}

/** So few are compared faster than they are looked up. */
const FEW = 8

function typeOf(value: Json | undefined): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function same(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object') return false
  return canonicalJson(left) === canonicalJson(right)
}

/** The value that a sensitive field is compared with may be that field's value (S5). */
export function sayCondition({ field, op, value }: Condition, schema: JsonObject | undefined): string {
  const sensitive = schema !== undefined && writeOnlyPaths(schema).length > 0
  return `${field} ${op}${value === undefined || sensitive ? '' : ` ${JSON.stringify(value)}`}`
}
