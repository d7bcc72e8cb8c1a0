// JSON values, and what a caller is told about one that breaks a rule.

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/** One broken rule at one place. `path` is a JSON pointer, '' for the whole document. */
export interface Violation {
  readonly path: string
  readonly message: string
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
