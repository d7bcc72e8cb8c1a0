// Reads what stands in an action: declarations, commands, and the operands of commands.
import { didYouMean } from '../did-you-mean.ts'
import { TemplateFault } from './fault.ts'
import { FUNCTION_NAMES } from './function-names.ts'
import { boolValue, intValue, LITERAL, stringValue } from './go-value.ts'
import type { Token } from './lex.ts'
import type { Command, Operand, Pipeline } from './nodes.ts'
import { readNumber } from './scan-number.ts'
import { type TokenReader, unexpected } from './token-reader.ts'
import { unquote, unquoteCharacter } from './unquote.ts'

export type PipelineContext = 'action' | 'if' | 'with' | 'range' | 'parentheses'

interface Declared {
  readonly names: readonly string[]
  readonly isAssignment: boolean
}

export function parsePipeline(reader: TokenReader, context: PipelineContext): Pipeline {
  const { at } = reader.peekNonSpace()
  const declared = parseDeclarations(reader, context)
  const close = context === 'parentheses' ? 'right-paren' : 'right'
  const commands: Command[] = []
  for (;;) {
    const token = reader.peekNonSpace()
    if (token.type === close) {
      reader.next()
      if (commands.length === 0) {
        throw new TemplateFault(`a value is missing. Fix: write one, such as .name`, token.at)
      }
      return { kind: 'pipeline', at, ...declared, commands }
    }
    const command = parseCommand(reader, context)
    if (commands.length > 0 && /^(dot|nil|constant|too-large)$/.test(command.first.kind)) {
      throw new TemplateFault('only a function can stand after |', command.at)
    }
    commands.push(command)
  }
}

function parseDeclarations(reader: TokenReader, context: PipelineContext): Declared {
  const names: string[] = []
  for (;;) {
    const variable = reader.peekNonSpace()
    if (variable.type !== 'variable') return { names, isAssignment: false }
    const mark = reader.mark()
    reader.next()
    const next = reader.peekNonSpace()
    const isComma = next.type === 'other' && next.text === ','
    if (next.type !== 'assign' && next.type !== 'declare' && !isComma) {
      reader.reset(mark)
      return { names, isAssignment: false }
    }
    reader.next()
    names.push(variable.text)
    reader.variables.push(variable.text)
    if (!isComma) return { names, isAssignment: next.type === 'assign' }
    if (context !== 'range' || names.length === 2) {
      throw new TemplateFault('too many variables are declared here', next.at)
    }
    const second = reader.peekNonSpace()
    if (second.type !== 'variable') throw unexpected(second, 'after the comma: only a variable can')
  }
}

function parseCommand(reader: TokenReader, context: PipelineContext): Command {
  const { at } = reader.peekNonSpace()
  const operands: Operand[] = []
  for (;;) {
    const operand = parseOperand(reader)
    if (operand !== undefined) operands.push(operand)
    const token = reader.peek()
    if (token.type === 'space') {
      reader.next()
      continue
    }
    if (token.type === 'pipe') reader.next()
    else if (token.type !== 'right' && token.type !== 'right-paren') {
      throw unexpected(token, operand === undefined ? place(context) : 'right after a value')
    }
    const [first, ...rest] = operands
    if (first === undefined) throw unexpected(token, place(context))
    return { at, first, rest }
  }
}

const place = (context: PipelineContext): string => (context === 'action' ? 'in an action' : `in ${context}`)

function parseOperand(reader: TokenReader): Operand | undefined {
  const term = parseTerm(reader)
  if (term === undefined || reader.peek().type !== 'field') return term
  const fieldAt = reader.peek().at
  const path: string[] = []
  while (reader.peek().type === 'field') path.push(reader.next().text.slice(1))
  switch (term.kind) {
    case 'field':
    case 'variable':
      return { ...term, path: [...term.path, ...path] }
    case 'pipeline':
    case 'function':
      return { kind: 'chain', at: term.at, base: term, path }
    default:
      throw new TemplateFault(`a field cannot follow here: this value has none`, fieldAt)
  }
}

function parseTerm(reader: TokenReader): Operand | undefined {
  const token = reader.peekNonSpace()
  if (token.type === 'left-paren') {
    reader.next()
    reader.enter(token.at)
    const pipeline = parsePipeline(reader, 'parentheses')
    reader.leave()
    return pipeline
  }
  const operand = parseSimpleTerm(reader, token)
  if (operand !== undefined) reader.next()
  return operand
}

function parseSimpleTerm(reader: TokenReader, token: Token): Operand | undefined {
  const { at, text } = token
  switch (token.type) {
    case 'dot':
      return { kind: 'dot', at }
    case 'keyword':
      return text === 'nil' ? { kind: 'nil', at } : undefined
    case 'field':
      return { kind: 'field', at, path: [text.slice(1)] }
    case 'bool':
      return { kind: 'constant', at, value: boolValue(text === 'true', LITERAL) }
    case 'variable':
      if (reader.variables.includes(text)) return { kind: 'variable', at, name: text, path: [] }
      throw new TemplateFault(`the variable ${text} is not declared. Fix: write {{${text} := …}} before`, at)
    case 'identifier':
      return functionNamed(text, at)
    case 'string':
    case 'raw-string': {
      const bytes = unquote(text)
      if (bytes === undefined) throw new TemplateFault(`${text} has an escape that Go does not know`, at)
      return { kind: 'constant', at, value: stringValue(bytes, LITERAL) }
    }
    case 'character': {
      const code = unquoteCharacter(text)
      if (code === undefined) throw new TemplateFault(`${text} is not exactly one character`, at)
      return { kind: 'constant', at, value: intValue(code, LITERAL) }
    }
    case 'number': {
      const read = readNumber(text)
      if (read === undefined) throw new TemplateFault(`${text} is no number, or one that is too large`, at)
      if (read.kind === 'too-large') return { kind: 'too-large', at, text }
      return { kind: 'constant', at, value: { ...read, literal: LITERAL } }
    }
    default:
      return undefined
  }
}

function functionNamed(name: string, at: number): Operand {
  if (FUNCTION_NAMES.includes(name)) return { kind: 'function', at, name }
  if (name === 'call') {
    throw new TemplateFault('call is not available: JSON input has no functions. Fix: remove it', at)
  }
  const guess = didYouMean(name, FUNCTION_NAMES)
  const fix =
    guess === undefined ? `the functions are ${FUNCTION_NAMES.join(', ')}` : `did you mean ${guess}?`
  throw new TemplateFault(`there is no function ${name}. Fix: write .${name} for a field; ${fix}`, at)
}
