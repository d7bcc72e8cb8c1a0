// Which modules a source file reaches, in every way it can: import, import type, re-export, import(), worker URL.
import { type Token, tokensOf } from './tokens.ts'

export interface ImportFound {
  readonly specifier: string
  /** `type` is erased before the program runs; `lazy` and `worker` load when the line runs. */
  readonly kind: 'value' | 'type' | 'lazy' | 'worker'
  readonly line: number
}

/** `{ type A, type B }`: nothing of it is left at run time. Not so `{}` or `{ type A, b }`. */
function onlyTypes(clause: readonly Token[]): boolean {
  if (clause[0]?.text === 'type' && clause[1]?.text !== ',' && clause.length > 1) return true
  if (clause[0]?.text !== '{' || clause.length < 3) return false
  const names = clause.slice(1, -1)
  return names.every((token, at) => {
    const first = at === 0 || names[at - 1]?.text === ','
    return !first || token.text === 'type'
  })
}

/** The statement that starts after `import` or `export` at `at`, up to its `from 'specifier'`. */
function fromClause(tokens: readonly Token[], at: number): { clause: Token[]; specifier: Token } | undefined {
  const clause: Token[] = []
  for (let next = at + 1; next < tokens.length; next++) {
    const token = tokens[next]
    if (token === undefined) break
    const specifier = tokens[next + 1]
    if (token.text === 'from' && token.depth === tokens[at]?.depth && specifier?.kind === 'string') {
      return { clause, specifier }
    }
    if (token.kind !== 'word' && !['{', '}', ',', '*'].includes(token.text)) return undefined
    if (
      clause.length === 0 &&
      !['type', 'default', '{', '*'].includes(token.text) &&
      tokens[at]?.text === 'export'
    ) {
      return undefined
    }
    clause.push(token)
  }
  return undefined
}

export function importsOf(source: string): readonly ImportFound[] {
  const tokens = tokensOf(source)
  const found: ImportFound[] = []
  for (const [at, token] of tokens.entries()) {
    const next = tokens[at + 1]
    if (token.kind !== 'word' || next === undefined || tokens[at - 1]?.text === '.') continue
    if (token.text === 'import' && next.text === '(') {
      const specifier = tokens[at + 2]
      // A computed specifier cannot be followed; it is reported as such, and every rule refuses it.
      const text = specifier?.kind === 'string' && tokens[at + 3]?.text !== '+' ? specifier.text : ''
      const typeOf =
        tokens[at - 1]?.text === 'typeof' || [':', '<', '|', '&'].includes(tokens[at - 1]?.text ?? '')
      found.push({ specifier: text, kind: typeOf ? 'type' : 'lazy', line: token.line })
    } else if (token.text === 'import' && next.kind === 'string' && token.depth === 0) {
      found.push({ specifier: next.text, kind: 'value', line: token.line })
    } else if ((token.text === 'import' || token.text === 'export') && token.depth === 0) {
      const statement = fromClause(tokens, at)
      if (statement === undefined) continue
      const kind = onlyTypes(statement.clause) ? 'type' : 'value'
      found.push({ specifier: statement.specifier.text, kind, line: token.line })
    } else if (token.text === 'URL' && next.text === '(' && tokens[at + 2]?.kind === 'string') {
      const specifier = tokens[at + 2]?.text ?? ''
      const isModule = /\.[cm]?[jt]s$/.test(specifier) && specifier.startsWith('.')
      if (isModule) found.push({ specifier, kind: 'worker', line: token.line })
    }
  }
  return found
}
