// A schema that is compiled by its first check: a runtime rarely speaks every dialect, and compiling costs milliseconds.
import type { JsonObject } from '../../util/json.ts'
import { type CompiledSchema, compileSchema } from '../../util/json-schema.ts'

export function lazySchema(schema: object): CompiledSchema {
  let compiled: CompiledSchema | undefined
  return {
    check(value) {
      // TypeBox keeps its own marks out of sight: what can be enumerated is plain JSON.
      compiled ??= compileSchema(schema as JsonObject)
      return compiled.check(value)
    },
  }
}
