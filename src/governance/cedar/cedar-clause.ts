// Takes a Cedar policy apart: its scope, and the conditions that all have to hold, each in the words of its author.
import { CEDAR_TOKEN, type Statement } from './cedar-text.ts'

export interface CedarClauses {
  readonly principal: string
  readonly action: string
  /** All of `when` and `unless`, as a permit for everybody. */
  readonly rest: string
  /** What has to be true: the parts of `when` between `&&`, and the parts of `unless` between `||`, denied. */
  readonly conditions: readonly string[]
}

interface Token {
  readonly text: string
  readonly at: number
  /** How many brackets it stands in; a bracket stands outside of itself. */
  readonly depth: number
}

/** For a statement that the engine has read: what is no Cedar has no clauses to find. */
export function clausesOf({ text, effectAt = 0 }: Statement): CedarClauses {
  const tokens = tokensOf(text, effectAt)
  const outer = tokens.filter(({ depth }) => depth === 0)
  const [open, close] = outer.filter(({ text: one }) => one === '(' || one === ')')
  const [head = 0, tail = 0] = [open?.at, close?.at]
  const commas = tokens.flatMap((one) =>
    one.text === ',' && one.depth === 1 && one.at < tail ? [one.at] : [],
  )
  const [first = tail, second = tail] = commas
  const conditions: string[] = []
  for (const [index, { text: kind }] of outer.entries()) {
    if (kind !== 'when' && kind !== 'unless') continue
    const body = text.slice((outer[index + 1]?.at ?? 0) + 1, outer[index + 2]?.at)
    if (kind === 'when') conditions.push(...partsOf(body, '&&'))
    else conditions.push(...partsOf(body, '||').map((part) => `!(${part})`))
  }
  return {
    principal: compact(text.slice(head + 1, first)),
    action: compact(text.slice(first + 1, second)),
    rest: `${ANYTHING}${text.slice(tail + 1)}`,
    conditions,
  }
}

const ANYTHING = 'permit (principal, action, resource)'

/** A policy that matches where the condition holds. */
export function policyOf(condition: string): string {
  return `${ANYTHING} when { ${condition} };`
}

/** `&&` binds closer than `||`, and what begins with `if` goes on to its end. */
function partsOf(body: string, operator: '&&' | '||'): readonly string[] {
  const tokens = tokensOf(body, 0)
  const outer = tokens.filter(({ depth }) => depth === 0)
  const [first] = outer
  const whole = outer.length === 2 && first?.text === '('
  if (whole) return partsOf(body.slice(first.at + 1, outer[1]?.at), operator)
  const has = (one: string) => outer.some(({ text }) => text.startsWith(one))
  if (first?.text === 'if' || !has(operator) || (operator === '&&' && has('||'))) return [compact(body)]
  const cuts = outer.filter(({ text }) => text.startsWith(operator)).map(({ at }) => at)
  return [-operator.length, ...cuts].flatMap((from, index) =>
    partsOf(body.slice(from + operator.length, cuts[index]), operator),
  )
}

function tokensOf(text: string, from: number): readonly Token[] {
  const tokens: Token[] = []
  let depth = 0
  for (const { 0: token, index } of text.slice(from).matchAll(CEDAR_TOKEN)) {
    if (token.startsWith('//')) continue
    if (/^[)\]}]$/.test(token)) depth--
    tokens.push({ text: token, at: from + index, depth })
    if (/^[([{]$/.test(token)) depth++
  }
  return tokens
}

/** On one line, without comments. */
function compact(text: string): string {
  return text
    .replace(/("(?:[^"\\]|\\[\s\S])*")|(?:\/\/[^\n\r]*|\s)+/g, (_, kept: string | undefined) => kept ?? ' ')
    .trim()
}
