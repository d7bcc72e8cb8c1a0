// Checks values against JSON Schema 2020-12 from outside, in bounded time, with messages for people.
import type { ErrorObject } from 'ajv/dist/2020.js'
import { createEngineSchema } from './engine-schema.ts'
import type { Json, JsonObject, Violation } from './json.ts'
import { readSchema, SchemaError } from './schema-document.ts'
import { MAX_VIOLATIONS, toViolations, type Violations } from './schema-violation.ts'
import { findUndeclaredFields } from './undeclared-field.ts'
import { createValidationEngine, type ValidationEngine } from './validation-engine.ts'
import { Work, WorkStop } from './work.ts'

export { SchemaError } from './schema-document.ts'
export { maskWriteOnly, writeOnlyPaths } from './write-only.ts'

export interface CompileSchemaOptions {
  /** Fields that the schema does not declare are violations (S5). @default false */
  readonly closed?: boolean
}

export interface CompiledSchema {
  /** Empty when valid. The value must be one that `parseStrictJson` or `checkJson` let through. */
  check(value: Json): readonly Violation[]
}

/** Steps of one check. A step is an item, a key or a reference; a check that needs more is refused. */
const MAX_WORK = 2_000_000
/** Steps to find out everything that is wrong, once something is. */
const MAX_SEARCH_WORK = 200_000

const NONE: readonly Violation[] = Object.freeze([])

/**
 * Compiles a schema; takes some milliseconds, so do it when a tool is applied, not when it is called.
 * Throws `SchemaError` for a schema that is not valid, refers outside of itself, or holds a pattern that may backtrack.
 */
export function compileSchema(
  schema: JsonObject | boolean,
  options: CompileSchemaOptions = {},
): CompiledSchema {
  const document = readSchema(schema)
  const engineSchema = createEngineSchema(document)
  const work = new Work()
  const engine = compiling(() => createValidationEngine(document, engineSchema, { allErrors: false, work }))
  // Made for the first value that fails: most schemas meet few.
  let searching: ValidationEngine | undefined

  /** All that is wrong, or what was found before the work was used up: at least the first error. */
  function search(value: Json, first: readonly ErrorObject[]): Violations {
    searching ??= createValidationEngine(document, engineSchema, {
      allErrors: true,
      work,
      shapes: engine.shapes,
    })
    work.left = MAX_SEARCH_WORK
    try {
      return toViolations(searching.run(value) ?? first, engineSchema)
    } catch (error) {
      if (!isStop(error)) throw error
      const found =
        error instanceof WorkStop && Array.isArray(error.found) ? (error.found as ErrorObject[]) : first
      return { ...toViolations(found, engineSchema), isCut: true }
    }
  }

  /** The fields that S5 refuses. Where the value is known to be wrong, a search that ends early does no harm. */
  function undeclared(value: Json, isWrong: boolean): readonly Violations[] {
    if (!options.closed) return []
    work.left = MAX_WORK
    try {
      return [findUndeclaredFields(document.root, value, engine.shapes)]
    } catch (error) {
      if (!isWrong || !isStop(error)) throw error
      return [{ list: [], more: 0, isCut: true }]
    }
  }

  return {
    check(value) {
      work.left = MAX_WORK
      try {
        const errors = engine.run(value)
        if (errors === undefined) return shown(undeclared(value, false))
        return shown([search(value, errors), ...undeclared(value, true)])
      } catch (error) {
        if (!isStop(error)) throw error
        return [{ path: '', message: 'is too large or too deep to check against this schema: send less' }]
      }
    },
  }
}

/** The schema has been read and is sound; what is left is one so entangled that the engine cannot follow it. */
function compiling<T>(compile: () => T): T {
  try {
    return compile()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new SchemaError([
      { path: '', message: 'refers from definition to definition too deeply to be compiled' },
    ])
  }
}

/** A used-up stack counts as used-up work: a chain of references per level, at 128 levels. */
function isStop(error: unknown): boolean {
  return error instanceof WorkStop || error instanceof RangeError
}

function shown(parts: readonly Violations[]): readonly Violation[] {
  const all = parts.flatMap((part) => part.list)
  if (all.length === 0) return NONE
  const unique = [...new Map(all.map((one) => [`${one.path} ${one.message}`, one])).values()]
  const list = unique.slice(0, MAX_VIOLATIONS)
  const more = unique.length - list.length + parts.reduce((sum, part) => sum + part.more, 0)
  const rest =
    more > 0
      ? `has at least ${more} more problem${more === 1 ? '' : 's'} than these`
      : parts.some((part) => part.isCut)
        ? 'may have more problems than these'
        : undefined
  return rest === undefined ? list : [...list, { path: '', message: rest }]
}
