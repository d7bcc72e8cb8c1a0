// The rules of S3 for values that come from a program instead of text: only what JSON can say, and says the same twice.
import type { Violation } from './json.ts'
import { clipPointer, pointer } from './pointer.ts'
import { isReservedKey, reservedMessage, UNSAFE_INTEGER } from './scan-json.ts'

export interface CheckJsonOptions {
  /** Levels of arrays and objects. @default 128 */
  readonly maxDepth?: number
}

const MAX_VIOLATIONS = 100

/** One object can be referred to from many places and grow without end when it is written out. */
const MAX_VALUES = 5_000_000

interface Walk {
  readonly violations: Violation[]
  readonly path: (string | number)[]
  readonly ancestors: object[]
  readonly maxDepth: number
  values: number
}

/** Empty for a plain JSON value. A value with getters may change after this: copy it first. */
export function checkJson(value: unknown, options: CheckJsonOptions = {}): readonly Violation[] {
  const walk: Walk = { violations: [], path: [], ancestors: [], maxDepth: options.maxDepth ?? 128, values: 0 }
  visit(value, walk)
  return walk.violations
}

function visit(value: unknown, walk: Walk): void {
  if (++walk.values === MAX_VALUES) refuse(walk, `holds more than ${MAX_VALUES} values`)
  if (walk.values >= MAX_VALUES || walk.violations.length >= MAX_VIOLATIONS) return
  if (typeof value === 'object' && value !== null) container(value, walk)
  else {
    const problem = scalarProblem(value)
    if (problem !== undefined) refuse(walk, problem)
  }
}

function scalarProblem(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return value.isWellFormed()
        ? undefined
        : 'holds half of a surrogate pair, which cannot be written as UTF-8'
    case 'number':
      if (!Number.isFinite(value)) return `is ${value}, which JSON cannot say`
      return Number.isInteger(value) && !Number.isSafeInteger(value) ? UNSAFE_INTEGER : undefined
    case 'boolean':
      return undefined
    case 'object':
      return undefined
    case 'undefined':
      return 'is undefined: leave it out, or use null'
    default:
      return `is a ${typeof value}, which JSON cannot say`
  }
}

function container(value: object, walk: Walk): void {
  const problem = walk.ancestors.includes(value)
    ? 'contains itself'
    : walk.ancestors.length === walk.maxDepth
      ? `is nested deeper than ${walk.maxDepth} levels`
      : undefined
  if (problem !== undefined) {
    refuse(walk, problem)
    return
  }
  walk.ancestors.push(value)
  const depth = walk.path.length
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && walk.violations.length < MAX_VIOLATIONS; index++) {
      walk.path[depth] = index
      visit(value[index], walk)
    }
    walk.path.length = depth
  } else if (isPlain(value)) {
    for (const key of Object.keys(value)) {
      walk.path[depth] = key
      if (isReservedKey(key)) refuse(walk, reservedMessage(key))
      if (!key.isWellFormed())
        refuse(walk, 'has a key with half of a surrogate pair, which cannot be written as UTF-8')
      visit((value as Record<string, unknown>)[key], walk)
    }
    walk.path.length = depth
    if (Object.getOwnPropertySymbols(value).length > 0)
      refuse(walk, 'has a symbol for a key, which JSON cannot say')
  } else {
    refuse(walk, `is an instance of ${className(value)}: give a plain object or an array`)
  }
  walk.ancestors.pop()
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function className(value: object): string {
  const name: unknown = value.constructor?.name
  return typeof name === 'string' && name !== '' ? name : 'a class'
}

function refuse(walk: Walk, message: string): void {
  walk.violations.push({ path: clipPointer(pointer(walk.path)), message })
}
