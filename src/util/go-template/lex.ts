// Cuts a template into tokens, by the rules of Go's text/template.
import { isWord } from './go-text.ts'
import { scanNumber } from './scan-number.ts'

export type TokenType =
  | 'text'
  | 'left'
  | 'right'
  | 'space'
  | 'dot'
  | 'field'
  | 'variable'
  | 'identifier'
  | 'keyword'
  | 'bool'
  | 'number'
  | 'character'
  | 'string'
  | 'raw-string'
  | 'pipe'
  | 'assign'
  | 'declare'
  | 'left-paren'
  | 'right-paren'
  | 'other'
  | 'end'
  /** The text is what is wrong. It is the last token. */
  | 'error'

export interface Token {
  readonly type: TokenType
  readonly text: string
  readonly at: number
}

/** A token in an action, or what is wrong, and where when that is not its beginning. */
type Scanned =
  | { readonly type: TokenType; readonly end: number }
  | { readonly wrong: string; readonly at?: number }

const KEYWORDS: ReadonlySet<string> = new Set([
  'block',
  'break',
  'continue',
  'define',
  'else',
  'end',
  'if',
  'nil',
  'range',
  'template',
  'with',
])
const SINGLE: Readonly<Record<string, TokenType>> = {
  '=': 'assign',
  '|': 'pipe',
  '(': 'left-paren',
  ')': 'right-paren',
}
const SPACE = ' \t\r\n'

const isSpace = (char: string | undefined): boolean =>
  char !== undefined && char !== '' && SPACE.includes(char)
const charAt = (input: string, at: number): string => {
  const code = input.codePointAt(at)
  return code === undefined ? '' : String.fromCodePoint(code)
}

function skipSpace(input: string, from: number): number {
  let at = from
  while (isSpace(input[at])) at++
  return at
}

export function lex(input: string): readonly Token[] {
  const tokens: Token[] = []
  let at = 0
  for (;;) {
    const open = input.indexOf('{{', at)
    const stop = open === -1 ? input.length : open
    const trimsLeft = open !== -1 && input[open + 2] === '-' && isSpace(input[open + 3])
    const text = input.slice(at, stop)
    const kept = trimsLeft ? trimmedEnd(text) : text
    if (kept !== '') tokens.push({ type: 'text', text: kept, at })
    if (open === -1) {
      tokens.push({ type: 'end', text: '', at: input.length })
      return tokens
    }
    const inside = open + (trimsLeft ? 4 : 2)
    // The space of a trim marker that a comment follows is part of the marker.
    const next = input.startsWith('/*', inside)
      ? lexComment(input, inside, tokens)
      : lexAction(input, open, inside, tokens)
    if (next === undefined) return tokens
    at = next
  }
}

function trimmedEnd(text: string): string {
  let end = text.length
  while (isSpace(text[end - 1])) end--
  return text.slice(0, end)
}

/** Where the text after the action begins, when a closing delimiter is here. */
function afterRight(input: string, at: number): number | undefined {
  if (isSpace(input[at]) && input.startsWith('-}}', at + 1)) return skipSpace(input, at + 4)
  return input.startsWith('}}', at) ? at + 2 : undefined
}

function lexComment(input: string, at: number, tokens: Token[]): number | undefined {
  const close = input.indexOf('*/', at + 2)
  const after = close === -1 ? undefined : afterRight(input, close + 2)
  if (after === undefined) {
    const text =
      close === -1
        ? 'the comment is not closed. Fix: end it with */}}'
        : 'the comment does not end its action. Fix: write }} right after */'
    tokens.push({ type: 'error', text, at })
  }
  return after
}

function lexAction(input: string, open: number, from: number, tokens: Token[]): number | undefined {
  tokens.push({ type: 'left', text: '{{', at: open })
  let at = from
  let depth = 0
  const fail = (text: string, place: number = at): undefined => {
    tokens.push({ type: 'error', text, at: place })
    return undefined
  }
  for (;;) {
    const after = afterRight(input, at)
    if (after !== undefined) {
      if (depth > 0) return fail('a parenthesis is not closed. Fix: write the missing )')
      tokens.push({ type: 'right', text: '}}', at })
      return after
    }
    if (at >= input.length) return fail('the action is not closed. Fix: end it with }}')
    const scanned = scan(input, at)
    if ('wrong' in scanned) return fail(scanned.wrong, scanned.at)
    if (scanned.type === 'left-paren') depth++
    if (scanned.type === 'right-paren' && depth-- === 0) return fail('there is a ) without its (')
    tokens.push({ type: scanned.type, text: input.slice(at, scanned.end), at })
    at = scanned.end
  }
}

function scan(input: string, at: number): Scanned {
  const char = charAt(input, at)
  const next = input[at + 1] ?? ''
  if (isSpace(char)) return { type: 'space', end: spaceEnd(input, at) }
  const single = SINGLE[char]
  if (single !== undefined) return { type: single, end: at + 1 }
  if (char === ':')
    return next === '=' ? { type: 'declare', end: at + 2 } : { wrong: 'a : stands without its =' }
  if (char === '"') return scanQuoted(input, at, 'string', 'the text in double quotes')
  if (char === "'") return scanQuoted(input, at, 'character', 'the character in single quotes')
  if (char === '`') {
    const close = input.indexOf('`', at + 1)
    if (close === -1) return { wrong: 'the text in backquotes is not closed. Fix: write the missing `' }
    return { type: 'raw-string', end: close + 1 }
  }
  if (char === '$') return scanName(input, at, at + 1, 'variable')
  if (char === '.' && !/^[0-9]/.test(next)) {
    return scanName(input, at, at + 1, isTerminator(input, at + 1) ? 'dot' : 'field')
  }
  if (/^[-+.0-9]/.test(char)) {
    const end = scanNumber(input, at)
    return end === undefined
      ? { wrong: `${show(input, at)} begins no valid number` }
      : { type: 'number', end }
  }
  if (isWord(char)) return scanName(input, at, at, 'identifier')
  if (/^[!-~]$/.test(char)) return { type: 'other', end: at + 1 }
  return { wrong: `the character ${JSON.stringify(char)} cannot stand in an action` }
}

/** A space that begins a trim marker belongs to the closing delimiter. */
function spaceEnd(input: string, at: number): number {
  const end = skipSpace(input, at)
  return input.startsWith('-}}', end) ? end - 1 : end
}

function scanQuoted(input: string, at: number, type: TokenType, what: string): Scanned {
  const quote = input[at]
  for (let end = at + 1; end < input.length && input[end] !== '\n'; end++) {
    if (input[end] === quote) return { type, end: end + 1 }
    if (input[end] === '\\' && input[++end] === '\n') break
  }
  return { wrong: `${what} is not closed on its line. Fix: write the missing ${quote}` }
}

function isTerminator(input: string, at: number): boolean {
  const char = input[at]
  return char === undefined || isSpace(char) || '.,|:)('.includes(char) || input.startsWith('}}', at)
}

function scanName(input: string, at: number, from: number, type: TokenType): Scanned {
  let end = from
  for (let char = charAt(input, end); isWord(char); char = charAt(input, end)) end += char.length
  if (!isTerminator(input, end)) {
    const char = charAt(input, end)
    const fix = char === '}' ? 'end the action with }}' : 'put a space between them'
    const wrong = `${JSON.stringify(char)} cannot follow ${input.slice(at, end)} directly. Fix: ${fix}`
    return { wrong, at: end }
  }
  const text = input.slice(at, end)
  if (type !== 'identifier') return { type, end }
  if (text === 'true' || text === 'false') return { type: 'bool', end }
  return { type: KEYWORDS.has(text) ? 'keyword' : 'identifier', end }
}

function show(input: string, at: number): string {
  return JSON.stringify(input.slice(at, at + 12))
}
