// Source text as tokens, so that the house rules and the layer test read code and never comments or strings.
// TypeScript 7 has no in-process parser; its scanner is plain JavaScript, and tokens with their depth are enough here.
import { SyntaxKind } from 'typescript/unstable/ast'
import { createScanner } from 'typescript/unstable/ast/scanner'

export interface Token {
  readonly kind: 'word' | 'string' | 'template' | 'regex' | 'number' | 'mark'
  /** As written; for a string, what it holds. */
  readonly text: string
  readonly line: number
  /** How many brackets, braces and parentheses are open around it. */
  readonly depth: number
}

const OPENS: ReadonlySet<string> = new Set(['(', '[', '{'])
const CLOSES: ReadonlySet<string> = new Set([')', ']', '}'])
/** Words after which a slash divides; after every other keyword it begins a regular expression. */
const OPERANDS: ReadonlySet<string> = new Set(['this', 'super', 'null', 'true', 'false', 'undefined'])

function isKeyword(kind: SyntaxKind): boolean {
  return kind >= SyntaxKind.FirstKeyword && kind <= SyntaxKind.LastKeyword
}

function kindOf(kind: SyntaxKind): Token['kind'] {
  if (kind === SyntaxKind.Identifier || kind === SyntaxKind.PrivateIdentifier || isKeyword(kind))
    return 'word'
  if (kind === SyntaxKind.StringLiteral || kind === SyntaxKind.NoSubstitutionTemplateLiteral) return 'string'
  if (kind === SyntaxKind.NumericLiteral || kind === SyntaxKind.BigIntLiteral) return 'number'
  if (kind === SyntaxKind.RegularExpressionLiteral) return 'regex'
  if (kind >= SyntaxKind.TemplateHead && kind <= SyntaxKind.TemplateTail) return 'template'
  return 'mark'
}

/** Whether an expression can end with `token`, so that a following slash is a division. */
function endsOperand(token: Token | undefined, wasKeyword: boolean): boolean {
  if (token === undefined) return false
  if (token.kind === 'mark') return CLOSES.has(token.text)
  return token.kind !== 'word' || !wasKeyword || OPERANDS.has(token.text)
}

export function tokensOf(source: string): readonly Token[] {
  const scanner = createScanner(true, undefined, source)
  const tokens: Token[] = []
  // One mark per open bracket: `${` needs its closing brace scanned as template text again.
  const open: string[] = []
  let line = 1
  let counted = 0
  let wasKeyword = false
  for (let kind = scanner.scan(); kind !== SyntaxKind.EndOfFile; kind = scanner.scan()) {
    if (kind === SyntaxKind.SlashToken || kind === SyntaxKind.SlashEqualsToken) {
      if (!endsOperand(tokens.at(-1), wasKeyword)) kind = scanner.reScanSlashToken()
    } else if (kind === SyntaxKind.CloseBraceToken && open.at(-1) === '${') {
      kind = scanner.reScanTemplateToken(false)
    }
    const start = scanner.getTokenStart()
    for (; counted < start; counted++) if (source.charCodeAt(counted) === 10) line++
    const text = scanner.getTokenText()
    if (CLOSES.has(text) || kind === SyntaxKind.TemplateMiddle || kind === SyntaxKind.TemplateTail) open.pop()
    const shown = kindOf(kind)
    tokens.push({
      kind: shown,
      text: shown === 'string' ? scanner.getTokenValue() : text,
      line,
      depth: open.length,
    })
    if (OPENS.has(text)) open.push(text)
    if (kind === SyntaxKind.TemplateHead || kind === SyntaxKind.TemplateMiddle) open.push('${')
    wasKeyword = isKeyword(kind)
  }
  return tokens
}
