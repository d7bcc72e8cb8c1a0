// Splits Cedar text into its policies before the engine sees it: where each begins, and whether it is safe to parse.
import type { Position } from '../../resource/problem.ts'

export interface Statement {
  readonly text: string
  /** Where it begins in the whole text, in characters. */
  readonly from: number
  /** Where its first word is, after comments. */
  readonly start: number
  /** Where `permit` or `forbid` is, in characters from `from`; absent where there is none. */
  readonly effectAt?: number
  /** Where each annotation is, in characters from `from`. */
  readonly annotations: readonly { readonly name: string; readonly at: number }[]
  /** What makes it too large for the engine, and where. */
  readonly excess?: { readonly what: string; readonly fix: string; readonly at: number }
}

// The engine parses and evaluates by recursion on a stack of fixed size; past it, it is broken for good. It holds
// about 100 levels of brackets and 1,600 operators in a row.
const MAX_NESTING = 32
const MAX_OPERATORS = 1_000
/** Each `if` costs the parser as much as several operators. */
const IF_WEIGHT = 4

export const CEDAR_TOKEN =
  /\/\/[^\n\r]*|"(?:[^"\\]|\\[\s\S])*"?|[\p{L}_][\p{L}\p{N}_]*|[()[\]{}]|[.+\-*&|=!<>]+|@\s*[\p{L}_][\p{L}\p{N}_]*|;|\S/gu

/** A semicolon ends a policy; in Cedar it stands nowhere else, other than in strings and comments. */
export function splitCedar(text: string): readonly Statement[] {
  const statements: Statement[] = []
  let open = newStatement(0)
  for (const { 0: token, index } of text.matchAll(CEDAR_TOKEN)) {
    if (token.startsWith('//')) continue
    open.add(token, index)
    if (token !== ';') continue
    statements.push(open.close(text.slice(open.from, index + 1)))
    open = newStatement(index + 1)
  }
  // What is left without a semicolon is for the engine to complain about.
  if (open.started()) statements.push(open.close(text.slice(open.from)))
  return statements
}

function newStatement(from: number) {
  let start: number | undefined
  let effectAt: number | undefined
  let depth = 0
  let operators = 0
  let excess: Statement['excess']
  const annotations: { name: string; at: number }[] = []

  function weigh(token: string, at: number): void {
    if (/^[([{]$/.test(token)) depth++
    else if (/^[)\]}]$/.test(token)) depth--
    else if (token === 'if') operators += IF_WEIGHT
    else if (/^[.+\-*&|=!<>]/.test(token)) operators++
    if (excess !== undefined) return
    if (depth > MAX_NESTING) {
      excess = { what: `brackets more than ${MAX_NESTING} deep`, fix: 'nest less', at }
    } else if (operators > MAX_OPERATORS) {
      const what = `more than ${MAX_OPERATORS} operators in one policy`
      excess = { what, fix: 'split it into several policies, or list values in a set', at }
    }
  }

  return {
    from,
    started: () => start !== undefined,
    add(token: string, index: number): void {
      start ??= index
      const at = index - from
      if (effectAt === undefined && depth === 0) {
        if (token.startsWith('@')) annotations.push({ name: token.slice(1).trim(), at })
        else if (token === 'permit' || token === 'forbid') effectAt = at
      }
      weigh(token, at)
    },
    close: (text: string): Statement => ({
      text,
      from,
      start: start ?? from,
      annotations,
      ...(effectAt === undefined ? {} : { effectAt }),
      ...(excess === undefined ? {} : { excess }),
    }),
  }
}

/** Line and column of a character, as editors count. */
export function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, offset)
  const line = before.split('\n').length
  return { line, column: offset - before.lastIndexOf('\n') }
}

/** The engine counts bytes of UTF-8. */
export function charactersIn(text: string, bytes: number): number {
  return Buffer.from(text).subarray(0, bytes).toString().length
}
