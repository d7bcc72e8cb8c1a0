// Goes through the tokens of a template, and keeps what is known at the place where it is.
import { TemplateFault } from './fault.ts'
import type { Token } from './lex.ts'

/** Blocks in blocks, and parentheses in parentheses. */
const MAX_NESTING = 100

export interface TokenReader {
  /** The names that are declared here. */
  readonly variables: string[]
  /** How many ranges are around. */
  rangeDepth: number
  peek(): Token
  next(): Token
  peekNonSpace(): Token
  nextNonSpace(): Token
  /** For going back to it. */
  mark(): number
  reset(mark: number): void
  /** Into a block or a parenthesis; throws where there are too many around. */
  enter(at: number): void
  leave(): void
}

export function createTokenReader(tokens: readonly Token[]): TokenReader {
  const last: Token = tokens.at(-1) ?? { type: 'end', text: '', at: 0 }
  let position = 0
  let nesting = 0
  const peek = (): Token => tokens[position] ?? last
  const skipSpace = (): void => {
    while (peek().type === 'space') position++
  }
  return {
    variables: ['$'],
    rangeDepth: 0,
    peek,
    next() {
      const token = peek()
      position++
      return token
    },
    peekNonSpace() {
      skipSpace()
      return peek()
    },
    nextNonSpace() {
      skipSpace()
      return this.next()
    },
    mark: () => position,
    reset(mark) {
      position = mark
    },
    enter(at) {
      if (++nesting > MAX_NESTING) {
        throw new TemplateFault(`is nested more than ${MAX_NESTING} levels deep. Fix: write it flatter`, at)
      }
    },
    leave() {
      nesting--
    },
  }
}

export function unexpected(token: Token, where: string): TemplateFault {
  if (token.type === 'error') return new TemplateFault(token.text, token.at)
  return new TemplateFault(`${shown(token)} cannot stand ${where}`, token.at)
}

function shown(token: Token): string {
  if (token.type === 'end') return 'the end of the template'
  return token.text.length > 40 ? `${token.text.slice(0, 40)}…` : token.text
}
