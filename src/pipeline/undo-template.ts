// What the call that undoes another one is given: its input, made from what that one was given and what it returned.
import type { Json, JsonObject } from '../util/json.ts'
import { readPointer } from '../util/pointer.ts'

export interface UndoSubject {
  readonly input: Json | undefined
  readonly output: Json | undefined
  /** The key that the tool knows the undone call by (S19). */
  readonly toolKey: string
}

export type UndoInput =
  | { readonly kind: 'made'; readonly input: Json }
  /** Pointers of the template that find nothing: what they stand for must not be guessed. */
  | { readonly kind: 'missing'; readonly pointers: readonly string[] }

/** Without a template it is what every named operation gets (S27). */
export function makeUndoInput(template: JsonObject | undefined, subject: UndoSubject): UndoInput {
  const { input, output, toolKey } = subject
  if (template === undefined) {
    return { kind: 'made', input: { idempotency_key: toolKey, ...(input === undefined ? {} : { input }) } }
  }
  const from = {
    ...(input === undefined ? {} : { input }),
    ...(output === undefined ? {} : { output }),
  }
  const missing: string[] = []
  const made = fill(template, from, missing)
  return missing.length === 0 ? { kind: 'made', input: made } : { kind: 'missing', pointers: missing }
}

/** A text that begins with /input or /output is a place; every other value is itself. */
const PLACE = /^\/(?:input|output)(?:\/|$)/

function fill(value: Json, from: JsonObject, missing: string[]): Json {
  if (typeof value === 'string') {
    if (!PLACE.test(value)) return value
    const found = readPointer(from, value)
    if (found === undefined) missing.push(value)
    return found ?? null
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one: Json) => fill(one, from, missing))
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fill(one, from, missing)]))
}
