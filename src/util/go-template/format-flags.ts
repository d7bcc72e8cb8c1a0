// What stands between % and the verb, and the padding that it asks for.
import { countRunes } from './go-text.ts'

export interface FormatFlags {
  readonly width: number | undefined
  readonly precision: number | undefined
  readonly minus: boolean
  readonly plus: boolean
  readonly sharp: boolean
  readonly space: boolean
  readonly zero: boolean
  /** `%#v`: as Go would write it in a program. */
  readonly isGoSyntax: boolean
}

export const PLAIN: FormatFlags = Object.freeze({
  width: undefined,
  precision: undefined,
  minus: false,
  plus: false,
  sharp: false,
  space: false,
  zero: false,
  isGoSyntax: false,
})

/** The filling of so many characters. Zeros go to the left only. */
export function padding(count: number, flags: FormatFlags): string {
  return (flags.zero && !flags.minus ? '0' : ' ').repeat(Math.max(count, 0))
}

/** To the width, which counts characters. */
export function pad(bytes: string, flags: FormatFlags): string {
  if (flags.width === undefined || flags.width === 0) return bytes
  const fill = padding(flags.width - countRunes(bytes), flags)
  return flags.minus ? bytes + fill : fill + bytes
}
