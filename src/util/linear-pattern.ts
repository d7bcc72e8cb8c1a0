// Regular expressions from outside, on an engine whose work grows with the text and never explodes (RE2).
//
// The dialect is RE2's reading of JavaScript's notation: no lookaround, no backreferences, at most 1000 repeats; \s and
// \b mean ASCII, and . stops at line feeds only.
import { RE2JS, RE2JSException } from 're2js'

export interface LinearPattern {
  readonly source: string
  /** Matching costs at most about this many steps for each character. */
  readonly size: number
  /** Whether the pattern is found anywhere in the text. */
  test(text: string): boolean
}

/** The pattern, or why it cannot run. */
export function createLinearPattern(source: string): LinearPattern | string {
  const odd = oddEscape(source)
  if (odd !== undefined) return odd
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(source))
    return { source, size: compiled.programSize(), test: (text) => compiled.test(text) }
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    return `is no pattern that runs in linear time: ${reason(source, error)}`
  }
}

/** The translation drops the backslash of an escape that it does not know, and so would change the meaning unseen. */
function oddEscape(source: string): string | undefined {
  for (const [, letter = ''] of source.matchAll(/\\(.)/gs)) {
    if (letter === 'k' || /[1-9]/.test(letter))
      return 'is a pattern with a backreference: write the repeated part out'
    if (/[A-Za-z]/.test(letter) && !'dDwWsSbBnrtvfcxupPAz'.includes(letter)) {
      return `is a pattern with the unknown escape \\${letter}`
    }
  }
  return undefined
}

function reason(source: string, error: RE2JSException): string {
  if (/\(\?<?[=!]/.test(source))
    return 'lookahead and lookbehind are not possible; use allOf, not, or a second pattern'
  if (error.message.includes('repeat'))
    return 'a part may repeat 1000 times at most; use minLength and maxLength'
  return error.message
}
