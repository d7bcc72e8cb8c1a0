// What the functions of a template do, but for `and` and `or`, which do not look at all of their arguments.
import { type Budget, createTextBuilder, type TextBuilder } from './budget.ts'
import { isEqual, isLess } from './compare.ts'
import { escapeHtml, escapeJs, escapeQuery } from './escape.ts'
import { TemplateFault } from './fault.ts'
import { fromBytes } from './go-text.ts'
import {
  boolValue,
  fromJson,
  intValue,
  isNothing,
  itemAt,
  jointLiteral,
  LITERAL,
  NONE,
  stringValue,
  typeName,
  type Value,
} from './go-value.ts'
import { printAll, printLine } from './print-value.ts'
import { printf } from './printf.ts'
import { writeJson } from './to-json.ts'
import { isTrue } from './truth.ts'

export interface TemplateFunction {
  readonly min: number
  readonly max: number
  apply(values: readonly Value[], budget: Budget): Value
}

const MANY = Number.POSITIVE_INFINITY

/** Of exactly two values. */
function comparison(isSo: (a: Value, b: Value) => boolean): TemplateFunction {
  return {
    min: 2,
    max: 2,
    apply: (values) => boolValue(isSo(values[0] ?? NONE, values[1] ?? NONE), jointLiteral(values)),
  }
}

function textFunction(min: number, write: (out: TextBuilder, values: readonly Value[]) => void) {
  return {
    min,
    max: MANY,
    apply(values: readonly Value[], budget: Budget): Value {
      const out = createTextBuilder(budget)
      write(out, values)
      return stringValue(out.bytes(), out.literal())
    },
  }
}

/** Where Go would print `<no value>`, nothing is printed. */
function escaper(escapeText: (bytes: string) => string): TemplateFunction {
  return textFunction(0, (out, values) => {
    const inner = createTextBuilder(out.budget)
    printAll(
      inner,
      values.map((value) => (isNothing(value) ? stringValue('', value.literal) : value)),
    )
    out.add(escapeText(inner.bytes()), jointLiteral(values))
  })
}

const isLessOrEqual = (a: Value, b: Value): boolean => isLess(a, b) || isEqual(a, [b])

export const FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  default: {
    min: 2,
    max: 2,
    apply: ([standard = NONE, value = NONE], budget) => (isTrue(value, budget) ? value : standard),
  },
  eq: {
    min: 1,
    max: MANY,
    apply: (values) => boolValue(isEqual(values[0] ?? NONE, values.slice(1)), jointLiteral(values)),
  },
  ge: comparison((a, b) => !isLess(a, b)),
  gt: comparison((a, b) => !isLessOrEqual(a, b)),
  html: escaper(escapeHtml),
  index: { min: 1, max: MANY, apply: indexValue },
  js: escaper(escapeJs),
  json: { ...textFunction(1, (out, [value = NONE]) => writeJson(out, value)), max: 1 },
  le: comparison(isLessOrEqual),
  len: {
    min: 1,
    max: 1,
    apply: (values, budget) => intValue(lengthOf(values[0] ?? NONE, budget), jointLiteral(values)),
  },
  lt: comparison(isLess),
  ne: comparison((a, b) => !isEqual(a, [b])),
  not: {
    min: 1,
    max: 1,
    apply: (values, budget) => boolValue(!isTrue(values[0] ?? NONE, budget), jointLiteral(values)),
  },
  print: textFunction(0, printAll),
  printf: textFunction(1, (out, [format = NONE, ...values]) => {
    if (format.kind !== 'string') {
      throw new TemplateFault(
        `the format of printf is ${typeName(format)}. Fix: begin with a text such as "%v"`,
      )
    }
    printf(out, format, values)
  }),
  println: textFunction(0, printLine),
  slice: { min: 1, max: MANY, apply: sliceValue },
  urlquery: escaper(escapeQuery),
}

function lengthOf(value: Value, budget: Budget): number {
  if (value.kind === 'string') return value.value.length
  if (value.kind === 'slice') return value.length
  if (value.kind === 'map') return budget.countFields(value.fields)
  throw new TemplateFault(
    isNothing(value)
      ? 'a missing value has no length. Fix: test it with if first'
      : `${typeName(value)} has no length`,
  )
}

/** A whole number that is not above `limit`. */
function position(value: Value, limit: number): number {
  if (value.kind !== 'int' && value.kind !== 'uint8') {
    throw new TemplateFault(
      `${typeName(value)} is no position in a list or text. Fix: use a whole number such as 0`,
    )
  }
  if (value.value < 0n || value.value > BigInt(limit)) {
    throw new TemplateFault(`the position ${value.value} is out of range`)
  }
  return Number(value.value)
}

function indexValue(values: readonly Value[], budget: Budget): Value {
  const literal = jointLiteral(values)
  let [item = NONE, ...keys] = values
  if (isNothing(item)) throw new TemplateFault('index of a missing value. Fix: test it with if first')
  for (const key of keys) item = { ...itemOf(item, key, budget), literal }
  return item
}

function itemOf(item: Value, key: Value, budget: Budget): Value {
  if (item.kind === 'map') {
    if (key.kind !== 'string')
      throw new TemplateFault(`the key of a map is ${typeName(key)}. Fix: use a text`)
    const name = fromBytes(key.value)
    return fromJson(name !== undefined && Object.hasOwn(item.fields, name) ? item.fields[name] : null)
  }
  if (item.kind !== 'slice' && item.kind !== 'string') {
    throw new TemplateFault(`index cannot look into ${isNothing(item) ? 'null' : typeName(item)}`)
  }
  const length = lengthOf(item, budget)
  const at = position(key, length - 1)
  if (item.kind === 'slice') return itemAt(item, at)
  return { kind: 'uint8', value: BigInt(item.value.charCodeAt(at)), literal: 0 }
}

function sliceValue([item = NONE, ...limits]: readonly Value[], budget: Budget): Value {
  if (item.kind !== 'slice' && item.kind !== 'string') {
    const what = isNothing(item) ? 'a missing value' : typeName(item)
    throw new TemplateFault(`slice of ${what}. Fix: give it a list or a text`)
  }
  if (limits.length > (item.kind === 'string' ? 2 : 3))
    throw new TemplateFault('slice has too many positions')
  const capacity = item.kind === 'string' ? item.value.length : item.capacity
  const [from = 0, to = lengthOf(item, budget), end = capacity] = limits.map((limit) =>
    position(limit, capacity),
  )
  if (from > to || to > end) throw new TemplateFault('the positions of slice are not in order')
  const isFixed = jointLiteral(limits) === LITERAL
  if (item.kind === 'string') {
    return stringValue(item.value.slice(from, to), isFixed ? Math.max(item.literal - from, 0) : 0)
  }
  return { ...item, start: item.start + from, length: to - from, capacity: end - from }
}
