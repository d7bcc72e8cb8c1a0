// Works out the value of a pipeline: fields, variables, constants and functions.
import type { Budget } from './budget.ts'
import { TemplateFault } from './fault.ts'
import { FUNCTIONS } from './functions.ts'
import { costOf, fromJson, isNothing, NONE, typeName, type Value } from './go-value.ts'
import type { Command, Operand, Pipeline } from './nodes.ts'
import { isTrue } from './truth.ts'

interface Variable {
  readonly name: string
  value: Value
}

/** One rendering under way. */
export interface Run {
  readonly budget: Budget
  /** The innermost is last. */
  readonly variables: Variable[]
}

/** Declares or assigns the variables of the pipeline, too. */
export function evaluatePipeline(run: Run, dot: Value, pipeline: Pipeline): Value {
  let value: Value | undefined
  for (const command of pipeline.commands) {
    const result = evaluateCommand(run, dot, command, value)
    // A nil that went through a pipeline is nothing at all.
    value = result.kind === 'nil' ? { kind: 'none', literal: result.literal } : result
  }
  const result = value ?? NONE
  for (const name of pipeline.names) {
    if (pipeline.isAssignment) assign(run, name, result, pipeline.at)
    else run.variables.push({ name, value: result })
  }
  return result
}

export function assign(run: Run, name: string, value: Value, at: number): void {
  const variable = run.variables.findLast((one) => one.name === name)
  if (variable === undefined) throw undeclared(name, at)
  variable.value = value
}

function undeclared(name: string, at: number): TemplateFault {
  return new TemplateFault(`the variable ${name} has no value here. Fix: declare it with := before`, at)
}

/** `final` is what stood before the |: the last argument. */
function evaluateCommand(run: Run, dot: Value, command: Command, final: Value | undefined): Value {
  const { first, rest } = command
  if (first.kind === 'function') return callFunction(run, dot, first, rest, final)
  if (first.kind === 'nil')
    throw new TemplateFault('nil alone is no value. Fix: write a field, or compare with eq .x nil', first.at)
  const hasArguments = rest.length > 0 || final !== undefined
  // A field looks at its arguments only once there is something to look in.
  const path = 'path' in first ? first.path : []
  if (hasArguments && path.length === 0) throw noFunction(first.at)
  return evaluateOperand(run, dot, first, hasArguments)
}

function noFunction(at: number): TemplateFault {
  return new TemplateFault('an argument is given to something that is no function', at)
}

function evaluateOperand(run: Run, dot: Value, operand: Operand, hasArguments: boolean): Value {
  run.budget.spend(1)
  switch (operand.kind) {
    case 'dot':
      return dot
    case 'nil':
      return NONE
    case 'constant':
      return operand.value
    case 'too-large':
      throw new TemplateFault(`${operand.text} is too large for a whole number`, operand.at)
    case 'field':
      return followPath(run, dot, operand.path, operand.at, hasArguments)
    case 'variable': {
      const variable = run.variables.findLast(({ name }) => name === operand.name)
      if (variable === undefined) throw undeclared(operand.name, operand.at)
      return followPath(run, variable.value, operand.path, operand.at, hasArguments)
    }
    case 'function':
      return callFunction(run, dot, operand, [], undefined)
    case 'chain': {
      const base = evaluateOperand(run, dot, operand.base, false)
      return followPath(run, base, operand.path, operand.at, hasArguments)
    }
    case 'pipeline':
      return evaluatePipeline(run, dot, operand)
  }
}

function followPath(
  run: Run,
  from: Value,
  path: readonly string[],
  at: number,
  hasArguments: boolean,
): Value {
  let value = from
  for (const [index, name] of path.entries()) {
    if (value.kind === 'none') return value
    if (value.kind !== 'map') {
      const what = isNothing(value) ? 'null' : typeName(value)
      throw new TemplateFault(`${what} has no field ${name}. Fix: test for it with if or with`, at)
    }
    if (hasArguments && index === path.length - 1) throw noFunction(at)
    value = Object.hasOwn(value.fields, name) ? fromJson(value.fields[name]) : { kind: 'none', literal: 0 }
    run.budget.spend(costOf(value))
  }
  return value
}

function callFunction(
  run: Run,
  dot: Value,
  called: Operand & { readonly kind: 'function' },
  operands: readonly Operand[],
  final: Value | undefined,
): Value {
  const { name, at } = called
  const count = operands.length + (final === undefined ? 0 : 1)
  run.budget.spend(1 + count)
  if (name === 'and' || name === 'or') return evaluateLogic(run, dot, called, operands, final)
  const entry = FUNCTIONS[name]
  if (entry === undefined) throw new TemplateFault(`there is no function ${name}`, at)
  if (count < entry.min || count > entry.max) throw wrongCount(name, entry.min, entry.max, count, at)
  const values = operands.map((operand) => evaluateOperand(run, dot, operand, false))
  if (final !== undefined) values.push(final)
  for (const value of values) run.budget.spend(costOf(value))
  try {
    return entry.apply(values, run.budget)
  } catch (error) {
    if (!(error instanceof TemplateFault) || error.at !== undefined) throw error
    throw new TemplateFault(error.message, at)
  }
}

function wrongCount(name: string, min: number, max: number, count: number, at: number): TemplateFault {
  const wanted = `${max === min ? '' : 'at least '}${min} ${min === 1 ? 'value' : 'values'}`
  return new TemplateFault(`${name} takes ${wanted}, and has ${count}`, at)
}

/** Stops at the first value that decides. */
function evaluateLogic(
  run: Run,
  dot: Value,
  called: Operand & { readonly kind: 'function' },
  operands: readonly Operand[],
  final: Value | undefined,
): Value {
  let value = final
  for (const operand of operands) {
    const candidate = evaluateOperand(run, dot, operand, false)
    if (isTrue(candidate, run.budget) === (called.name === 'or')) return candidate
    if (final === undefined) value = candidate
  }
  if (value === undefined) throw wrongCount(called.name, 1, Number.POSITIVE_INFINITY, 0, called.at)
  return value
}
