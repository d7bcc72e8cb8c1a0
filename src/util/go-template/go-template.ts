// Templates in the language of Go's text/template, for arguments of commands. Held equal to real Go by a differential
// test, but for what is said here:
//
// - `define`, `template`, `block` and `call` do not exist. `default D V` and `json V` do.
// - Where Go prints `<no value>`, nothing is printed: for a missing or null value that an action prints directly, or that
//   is given to html, js or urlquery. print, printf and println write `<nil>`, as in Go.
// - A result that is not UTF-8 is refused, and so is the address that %p would print for a list or map.
// - A list of the input cannot be sliced beyond its length; how much Go could would depend on how it grew when it was read.
import type { Json } from '../json.ts'
import { createBudget, type TemplateLimits } from './budget.ts'
import { placeOf, TemplateFault, type TextPlace } from './fault.ts'
import { fromBytes } from './go-text.ts'
import { fromJson, NONE } from './go-value.ts'
import { parse } from './parse.ts'
import { render } from './render.ts'

export interface GoTemplate {
  readonly text: string
  /** `data` is what `parseStrictJson` or `checkJson` let through. */
  render(data: Json, limits?: Partial<TemplateLimits>): Rendered
}

export type Rendered =
  | {
      readonly ok: true
      readonly text: string
      /** Whether the first character may be from the data. One that was written in the template is not. */
      readonly fromInput: boolean
    }
  | { readonly ok: false; readonly message: string }

export type ParsedTemplate =
  | { readonly ok: true; readonly template: GoTemplate }
  | ({ readonly ok: false; readonly message: string } & TextPlace)

/** As much as Linux takes for one argument; less than a second, whatever is sent. */
const LIMITS: TemplateLimits = Object.freeze({ maxBytes: 131_071, maxSteps: 200_000 })

export function parseTemplate(source: string): ParsedTemplate {
  const text = source.toWellFormed()
  try {
    const nodes = parse(text)
    return {
      ok: true,
      template: {
        text,
        render: (data, limits = {}) =>
          attempt(text, () => {
            const out = render(
              nodes,
              data === null ? NONE : fromJson(data),
              createBudget({ ...LIMITS, ...limits }),
            )
            const result = fromBytes(out.bytes())
            if (result === undefined) {
              throw new TemplateFault(
                'makes text that is not UTF-8. Fix: do not cut characters in the middle',
              )
            }
            return { ok: true, text: result, fromInput: out.literal() === 0 }
          }),
      },
    }
  } catch (error) {
    if (!(error instanceof TemplateFault)) throw error
    return { ok: false, message: error.message, ...placeOf(text, error.at ?? 0) }
  }
}

function attempt(text: string, run: () => Rendered): Rendered {
  try {
    return run()
  } catch (error) {
    if (!(error instanceof TemplateFault)) throw error
    if (error.at === undefined) return { ok: false, message: error.message }
    const { line, column } = placeOf(text, error.at)
    const where = text.includes('\n') ? `line ${line}, column ${column}` : `column ${column}`
    return { ok: false, message: `${where}: ${error.message}` }
  }
}
