// How much one rendering may do, and the text that it builds within that.
import type { JsonObject } from '../json.ts'
import { TemplateFault } from './fault.ts'
import { LITERAL } from './go-value.ts'

export interface TemplateLimits {
  /** Bytes of the result, and of every text on the way to it. */
  readonly maxBytes: number
  /** A step is a node, an iteration, an item of a list or map, or 64 bytes of text. */
  readonly maxSteps: number
}

export interface Budget {
  readonly maxBytes: number
  spend(steps: number): void
  /** For so many bytes of a text that is `total` bytes long with them. */
  spendText(bytes: number, total: number): void
  /** JavaScript has to go through the fields to count them, so each map is counted once. */
  countFields(fields: JsonObject): number
}

export function createBudget(limits: TemplateLimits): Budget {
  let left = limits.maxSteps
  const counts = new Map<JsonObject, number>()
  function spend(steps: number): void {
    left -= steps
    if (left < 0) {
      throw new TemplateFault(
        `takes more than ${limits.maxSteps} steps. Fix: send less, or loop less in the template`,
      )
    }
  }
  return {
    maxBytes: limits.maxBytes,
    spend,
    spendText(bytes, total) {
      if (total > limits.maxBytes) {
        throw new TemplateFault(
          `makes a text of more than ${limits.maxBytes} bytes. Fix: send less, or cut it with printf "%.100s"`,
        )
      }
      spend(1 + Math.floor(bytes / 64))
    },
    countFields(fields) {
      const known = counts.get(fields)
      if (known !== undefined) return known
      const count = Object.keys(fields).length
      spend(count)
      counts.set(fields, count)
      return count
    },
  }
}

export interface TextBuilder {
  readonly budget: Budget
  /** `literal` bytes at the beginning of the piece were written in the template. */
  add(bytes: string, literal: number): void
  bytes(): string
  /** How many bytes at the beginning were written in the template; `LITERAL` when all were. */
  literal(): number
}

export function createTextBuilder(budget: Budget): TextBuilder {
  let text = ''
  let literal = LITERAL
  return {
    budget,
    add(bytes, literalBytes) {
      if (bytes === '') return
      budget.spendText(bytes.length, text.length + bytes.length)
      if (literal === LITERAL && literalBytes < bytes.length) literal = text.length + literalBytes
      text += bytes
    },
    bytes: () => text,
    literal: () => literal,
  }
}
