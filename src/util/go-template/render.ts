// Walks through a template and writes its text.
import { type Budget, createTextBuilder, type TextBuilder } from './budget.ts'
import { assign, evaluatePipeline, type Run } from './evaluate.ts'
import { TemplateFault } from './fault.ts'
import {
  costOf,
  fromJson,
  intValue,
  itemAt,
  sortedEntries,
  stringValue,
  typeName,
  type Value,
} from './go-value.ts'
import type { Branch, Node } from './nodes.ts'
import { printAll } from './print-value.ts'
import { isTrue } from './truth.ts'

/** What leaves a list of nodes early. */
type Leap = 'break' | 'continue' | undefined

/** Throws `TemplateFault`. */
export function render(nodes: readonly Node[], data: Value, budget: Budget): TextBuilder {
  const out = createTextBuilder(budget)
  walk({ budget, variables: [{ name: '$', value: data }] }, out, data, nodes)
  return out
}

function walk(run: Run, out: TextBuilder, dot: Value, nodes: readonly Node[]): Leap {
  for (const node of nodes) {
    run.budget.spend(1)
    const leap = walkNode(run, out, dot, node)
    if (leap !== undefined) return leap
  }
  return undefined
}

function walkNode(run: Run, out: TextBuilder, dot: Value, node: Node): Leap {
  switch (node.kind) {
    case 'text':
      out.add(node.bytes, node.bytes.length)
      return undefined
    case 'action': {
      const value = evaluatePipeline(run, dot, node.pipeline)
      // Where Go would print `<no value>`, nothing is printed.
      if (node.pipeline.names.length === 0 && value.kind !== 'none') printAll(out, [value])
      return undefined
    }
    case 'break':
    case 'continue':
      return node.kind
    default: {
      const scope = run.variables.length
      const leap = node.kind === 'range' ? walkRange(run, out, dot, node) : walkChoice(run, out, dot, node)
      run.variables.length = scope
      return leap
    }
  }
}

function walkChoice(run: Run, out: TextBuilder, dot: Value, node: Branch): Leap {
  const value = evaluatePipeline(run, dot, node.pipeline)
  if (!isTrue(value, run.budget)) return walk(run, out, dot, node.otherwise)
  return walk(run, out, node.kind === 'with' ? value : dot, node.body)
}

function walkRange(run: Run, out: TextBuilder, dot: Value, node: Branch): Leap {
  const value = evaluatePipeline(run, dot, node.pipeline)
  // They are sorted before the first.
  if (value.kind === 'map') run.budget.spend(run.budget.countFields(value.fields))
  const scope = run.variables.length
  let isEmpty = true
  for (const [key, item] of iterationsOf(value, node)) {
    isEmpty = false
    run.budget.spend(1 + costOf(item))
    setLoopVariables(run, node, key, item)
    const leap = walk(run, out, item, node.body)
    run.variables.length = scope
    if (leap === 'break') return undefined
  }
  if (!isEmpty) return undefined
  // A break in the else part belongs to this range, a continue to the one around it.
  return walk(run, out, dot, node.otherwise) === 'continue' ? 'continue' : undefined
}

function setLoopVariables(run: Run, node: Branch, key: Value, item: Value): void {
  const { names, isAssignment, at } = node.pipeline
  const values = names.length > 1 ? [key, item] : [item]
  for (const [index, name] of names.entries()) {
    const value = values[index] ?? item
    if (isAssignment) assign(run, name, value, at)
    else {
      const variable = run.variables[run.variables.length - names.length + index]
      if (variable !== undefined) variable.value = value
    }
  }
}

function* iterationsOf(value: Value, node: Branch): Generator<readonly [key: Value, item: Value]> {
  const { literal } = value
  switch (value.kind) {
    case 'none':
    case 'nil':
      return
    case 'slice':
      for (let at = 0; at < value.length; at++) yield [intValue(at, 0), itemAt(value, at)]
      return
    case 'map':
      for (const { key, json } of sortedEntries(value.fields)) yield [stringValue(key, 0), fromJson(json)]
      return
    case 'int':
    case 'uint8': {
      if (node.pipeline.names.length > 1) {
        throw new TemplateFault('a range over a number has one variable. Fix: remove the other', node.at)
      }
      const { kind } = value
      for (let at = 0n; at < value.value; at++) yield [value, { kind, value: at, literal }]
      return
    }
    default:
      throw new TemplateFault(
        `range cannot go through ${typeName(value)}. Fix: give it a list, a map or a whole number`,
        node.at,
      )
  }
}
