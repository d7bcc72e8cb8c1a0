// Rules by what their conditions compare with: a call looks at those that its input can match, not at all about its tool.
// The index only leaves out what cannot match. Whether a rule does match is asked of the rule itself.
import type { Json } from '../util/json.ts'
import type { Judge } from './condition.ts'
import type { Found } from './found.ts'
import { type CompiledRule, ruleMatches } from './policy-rule.ts'
import type { ReadCondition, Reader } from './reading.ts'

export interface RuleIndex {
  /** Adds what matches. */
  match(reader: Reader, found: Set<Found>): void
}

/** A rule with those of its conditions that were not used to find it. */
interface Filed {
  readonly rule: CompiledRule
  readonly left: readonly ReadCondition[]
}

/** A condition to find a rule by. All that have the same `group` are looked up in one go. */
interface Key {
  readonly group: string
  readonly make: (filed: readonly Filed[]) => RuleIndex
}

/** So few are asked one by one. */
const FEW = 4
/** A rule is filed once for each value of a list; longer lists are asked. */
const MAX_VALUES = 64

export function indexRules(rules: readonly CompiledRule[]): RuleIndex {
  return fileAll(rules.map((rule) => ({ rule, left: rule.when })))
}

function fileAll(all: readonly Filed[]): RuleIndex {
  if (all.length <= FEW) return asked(all)
  const plain: Filed[] = []
  const groups = new Map<string, { readonly key: Key; readonly filed: Filed[] }>()
  for (const filed of all) {
    const key = keyOf(filed)
    if (key === undefined) {
      plain.push(filed)
      continue
    }
    const group = groups.get(key.group) ?? { key, filed: [] }
    groups.set(key.group, group)
    group.filed.push(filed)
  }
  const parts: RuleIndex[] = []
  for (const { key, filed } of groups.values()) {
    if (filed.length <= FEW) plain.push(...filed)
    else parts.push(key.make(filed))
  }
  if (plain.length > 0) parts.push(asked(plain))
  return {
    match(reader, found) {
      for (const part of parts) part.match(reader, found)
    },
  }
}

/** Most rules are out with their first condition, so that one is at hand without a look at the rule. */
interface Opened {
  readonly rule: CompiledRule
  readonly judge: Judge
  readonly field: number
}

function openedBy(
  rule: CompiledRule,
  { judge, field }: Pick<ReadCondition, 'judge' | 'field'> = ANY,
): Opened {
  return { rule, judge, field }
}

const ANY = Object.freeze({ judge: () => true, field: -1 })

function ask({ rule, judge, field }: Opened, reader: Reader, found: Set<Found>): void {
  if (judge(reader.read(field)) !== false && ruleMatches(rule, reader)) found.add(rule.found)
}

function asked(filed: readonly Filed[]): RuleIndex {
  const all = filed.map(({ rule, left }) => openedBy(rule, left[0]))
  return {
    match(reader, found) {
      for (const one of all) ask(one, reader, found)
    },
  }
}

/** Equality leaves out most, an order some, and what is left is at least judged once for all that have it in common. */
function keyOf({ left }: Filed): Key | undefined {
  const equal = left.find((condition) => valuesOf(condition) !== undefined)
  if (equal !== undefined)
    return { group: `equal ${equal.field}`, make: (filed) => byValue(equal.field, filed) }
  const ordered = left.find((condition) => orderOf(condition) !== undefined)
  if (ordered !== undefined) {
    const order = orderOf(ordered) ?? ''
    return { group: `${order} ${ordered.field}`, make: (filed) => byOrder(ordered.field, order, filed) }
  }
  const [first] = left
  if (first === undefined) return undefined
  return { group: sayAll(first), make: (filed) => inCommon(first, filed) }
}

/** The values that it is true for, and no others. Of plain ones only: these are found in a map as they are compared. */
function valuesOf({ op, value }: ReadCondition): readonly Json[] | undefined {
  if (op === 'eq') return value !== undefined && isPlain(value) ? [value] : undefined
  if (op !== 'in' || !Array.isArray(value) || value.length > MAX_VALUES) return undefined
  return value.every(isPlain) ? value : undefined
}

function isPlain(value: Json): boolean {
  return typeof value !== 'object' || value === null
}

function byValue(field: number, all: readonly Filed[]): RuleIndex {
  const filed = new Map<Json | undefined, Filed[]>()
  for (const { rule, left } of all) {
    const at = left.findIndex((condition) => condition.field === field && valuesOf(condition) !== undefined)
    const condition = left[at]
    if (condition === undefined) continue
    // What was found by one of many values is not filed by many values again: it would be there many times many times.
    const rest = left.filter((one, index) => index !== at && (condition.op === 'eq' || one.op !== 'in'))
    for (const value of new Set(valuesOf(condition))) {
      const there = filed.get(value)
      if (there === undefined) filed.set(value, [{ rule, left: rest }])
      else there.push({ rule, left: rest })
    }
  }
  const indexes = new Map([...filed].map(([value, some]) => [value, fileAll(some)]))
  return {
    match(reader, found) {
      indexes.get(reader.read(field))?.match(reader, found)
    },
  }
}

/** Which way it compares, and numbers or texts. */
function orderOf({ op, value }: ReadCondition): string | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  if (op === 'gt' || op === 'gte') return `above ${typeof value}`
  return op === 'lt' || op === 'lte' ? `below ${typeof value}` : undefined
}

/** Sorted by their bounds, so that all behind the first one out of reach are, too. */
function byOrder(field: number, order: string, all: readonly Filed[]): RuleIndex {
  const isAbove = order.startsWith('above')
  const filed = all.map(({ rule, left }) => {
    const condition = left.find((one) => one.field === field && orderOf(one) === order)
    const other = left.find((one) => one !== condition)
    return { bound: condition?.value as number | string, ...openedBy(rule, other) }
  })
  filed.sort((one, other) => (one.bound === other.bound ? 0 : one.bound < other.bound === isAbove ? -1 : 1))
  const type = typeof filed[0]?.bound
  return {
    match(reader, found) {
      const actual = reader.read(field)
      // What cannot be compared is left to each rule: it restricts, and never permits.
      const comparable = typeof actual === type ? (actual as number | string) : undefined
      for (const one of filed) {
        if (comparable !== undefined && (isAbove ? one.bound > comparable : one.bound < comparable)) return
        ask(one, reader, found)
      }
    },
  }
}

function inCommon({ field, judge }: ReadCondition, all: readonly Filed[]): RuleIndex {
  const rest = fileAll(all.map(({ rule, left }) => ({ rule, left: left.slice(1) })))
  return {
    match(reader, found) {
      if (judge(reader.read(field)) !== false) rest.match(reader, found)
    },
  }
}

function sayAll({ field, op, value }: ReadCondition): string {
  return `${op} ${field} ${JSON.stringify(value)}`
}
