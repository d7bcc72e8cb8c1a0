// A kind of resource: everything that reading, planning, keeping and showing one needs to know of it.
import type { TSchema } from 'typebox'
import type { JsonObject } from '../util/json.ts'
import type { FieldTable } from './field-row.ts'
import type { Finding } from './problem.ts'
import type { ResolveOptions } from './resolve-context.ts'

export interface KindResolveOptions extends ResolveOptions {
  /** Of the row that it is kept as. */
  readonly generation?: number
}

export interface Resolution<R> {
  /** Absent when there are errors. */
  readonly resolved?: R
  /** Over what it means; empty when there are errors. */
  readonly digest: string
  /** As it is kept: `0.0.0` for kinds without versions (S49). */
  readonly version: string
  readonly warnings: readonly Finding[]
  readonly errors: readonly Finding[]
}

export interface Kind<N extends string = string, M = unknown, R = unknown> {
  readonly name: N
  /** In one word, as messages and commands say it: `agent-role`. */
  readonly singular: string
  /** In paths of the HTTP API and in commands: `agent-roles`. */
  readonly plural: string
  /** Whether several versions of one name live side by side. */
  readonly versioned: boolean
  /** What a caller needs to change one. */
  readonly permission: 'resource:write' | 'governance:write' | 'secret:write' | 'mcp:write'
  readonly schema: TSchema
  readonly fields: FieldTable
  /** From a manifest of the right shape to what the runtime works with. */
  resolve(manifest: M, options: KindResolveOptions): Resolution<R>
  /** What may be seen of what is kept. Absent: all of it. */
  readonly shown?: (body: JsonObject) => JsonObject
}

export const UNVERSIONED = '0.0.0'

/** What resolving came to: nothing where there is an error. Frozen, and no part of it is the manifest's own. */
export function resolution<R extends object>(
  findings: readonly Finding[],
  version: string,
  digest: string,
  make: () => R,
): Resolution<R> {
  const errors = findings.filter((finding) => finding.severity === 'error')
  const warnings = findings.filter((finding) => finding.severity === 'warning')
  if (errors.length > 0) return { digest: '', version, warnings, errors }
  return { resolved: freeze(structuredClone(make())), digest, version, warnings, errors }
}

export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) freeze(part)
  return Object.freeze(value)
}
