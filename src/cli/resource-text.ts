// What tables say about a resource.
import type { Resource } from '../client/api.ts'
import type { Json } from '../util/json.ts'

export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A manifest without a version counts as 0.0.0 (S49). */
export function versionOf({ spec }: Resource): string {
  return textOf(spec.version) ?? '0.0.0'
}
