// The small schemas that the envelopes share: ids, keys, free-form JSON.
import Type from 'typebox'
import type { Json, JsonObject } from '../../util/json.ts'

export const DRAFT = 'https://json-schema.org/draft/2020-12/schema'

/** Opaque ids: one grammar for every id a caller may choose (S8). */
export const ID_PATTERN = '^[A-Za-z0-9._:/-]{1,128}$'

/** Past this a key does not fit the index of every store. */
export const KEY_MAX_LENGTH = 512

/** Longer ranges are not worth parsing. */
export const RANGE_MAX_LENGTH = 256

/** Free-form JSON: what it may hold is the business of the tool's own schema. */
export function anyJson(description: string) {
  return Type.Unsafe<Json>({ description })
}

/** A JSON object of any content. */
export function anyObject(description: string) {
  return Type.Unsafe<JsonObject>({ type: 'object', description })
}

export function id(description: string) {
  return Type.String({ pattern: ID_PATTERN, description })
}

/** An id that may be sent empty, which counts as absent. */
export function optionalId(description: string) {
  return Type.Optional(Type.String({ pattern: '^[A-Za-z0-9._:/-]{0,128}$', description }))
}

/** Text that may be sent empty, which counts as absent. */
export function optionalText(description: string) {
  return Type.Optional(Type.String({ maxLength: 256, description }))
}

export function texts(description: string) {
  return Type.Optional(Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 256, description }))
}

/** A whole number of at least `minimum`; what JSON can carry exactly is the upper bound (S3). */
export function whole(minimum: number, description: string) {
  return Type.Integer({ minimum, maximum: Number.MAX_SAFE_INTEGER, description })
}

/** One of `values`. A single `enum` gives one violation where a union would give one per branch. */
export function oneOf<const Values extends readonly (string | boolean)[]>(
  values: Values,
  description: string,
) {
  return Type.Unsafe<Values[number]>({ enum: values, description })
}

export const UsageSchema = Type.Object({
  duration_ms: whole(0, 'From arrival to answer.'),
  attempt: whole(0, 'The number of the last send, 0 if none.'),
  cpu_ms: Type.Optional(Type.Number({ minimum: 0, description: 'As the tool reports it, for that send.' })),
  memory_peak_mb: Type.Optional(
    Type.Number({ minimum: 0, description: 'As the tool reports it, for that send.' }),
  ),
})
