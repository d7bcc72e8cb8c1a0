// Picks from everything that the validation engine found what helps a person: no echoes, no branches nobody meant.
import type { ErrorObject } from 'ajv/dist/2020.js'
import type { EngineSchema } from './engine-schema.ts'
import type { Violation } from './json.ts'
import { clipPointer } from './pointer.ts'
import { messageOf, SUMMARY_KEYWORDS } from './schema-message.ts'

/** A list that is short enough to read, and how many more there are at least. */
export interface Violations {
  readonly list: readonly Violation[]
  readonly more: number
  /** The search ended before all was looked at. */
  readonly isCut?: boolean
}

export const MAX_VIOLATIONS = 100

/** Choices that are thinned out: enough to help, few enough to stay quick. */
const MAX_CHOICES = 20

export function toViolations(found: readonly ErrorObject[], schema: EngineSchema): Violations {
  const errors = withoutOtherBranches(found, schema)
  const alike = Map.groupBy(errors, keyOf)
  const violations = new Map<string, Violation>()
  for (const [index, error] of errors.entries()) {
    if (SUMMARY_KEYWORDS.has(error.keyword) && isExplained(index, errors)) continue
    if (violations.size === MAX_VIOLATIONS)
      return { list: [...violations.values()], more: errors.length - index }
    const group = alike.get(keyOf(error)) ?? []
    if (MERGED_KEYWORDS.has(error.keyword) && group[0] !== error) continue
    const message = messageOfAll(error, group)
    violations.set(`${error.instancePath} ${message}`, { path: clipPointer(error.instancePath), message })
  }
  return { list: [...violations.values()], more: 0 }
}

function isWithin(path: string, outer: string): boolean {
  return path.startsWith(outer) && (path.length === outer.length || path[outer.length] === '/')
}

/** Whether other errors say it better. A value that fits two alternatives is told so: nothing else says it. */
function isExplained(index: number, errors: readonly ErrorObject[]): boolean {
  const summary = errors[index]
  if (summary === undefined || (summary.keyword === 'oneOf' && summary.params.passingSchemas !== null))
    return false
  // What explains it comes before it, most often right before.
  for (let i = index - 1; i >= 0; i--) {
    const error = errors[i]
    if (error === undefined || SUMMARY_KEYWORDS.has(error.keyword)) continue
    if (isWithin(error.instancePath, summary.instancePath)) return true
  }
  return false
}

function keyOf({ instancePath, keyword, propertyName }: ErrorObject): string {
  return `${keyword} ${propertyName ?? ''} ${instancePath}`
}

/** Alternatives that ask for different types or constants give one error each; together they are one sentence. */
const MERGED_KEYWORDS: ReadonlySet<string> = new Set(['type', 'const'])

function messageOfAll(error: ErrorObject, alike: readonly ErrorObject[]): string {
  if (alike.length === 1 || !MERGED_KEYWORDS.has(error.keyword)) return messageOf(error)
  const schema = [
    ...new Set(
      alike.flatMap((one) => (error.keyword === 'type' ? (one.schema as string | string[]) : [one.schema])),
    ),
  ]
  return messageOf({ ...error, keyword: error.keyword === 'type' ? 'type' : 'enum', schema })
}

/**
 * Where no alternative fits, some are visibly not meant: the value has another type, or another constant in a field of
 * its own, such as `kind`. Their errors are left out while an alternative without such a difference remains.
 */
function withoutOtherBranches(found: readonly ErrorObject[], schema: EngineSchema): readonly ErrorObject[] {
  const dropped = new Set<ErrorObject>()
  const choices = found.filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
  for (const choice of choices.slice(0, MAX_CHOICES)) {
    const branches = (choice.schema as readonly unknown[])
      .map(definitionIn)
      .filter((name) => name !== undefined)
    const inside = found.filter(({ instancePath }) => isWithin(instancePath, choice.instancePath))
    const meant = branches.filter(
      (branch) => !inside.some((error) => isOtherBranch(error, branch, choice, schema)),
    )
    if (meant.length === 0 || meant.length === branches.length) continue
    const kept = new Set(meant.flatMap((branch) => [...schema.reach(branch)]))
    const others = new Set(
      branches.flatMap((branch) => [...schema.reach(branch)]).filter((name) => !kept.has(name)),
    )
    for (const error of inside) if (others.has(ownerOf(error, schema) ?? '')) dropped.add(error)
  }
  return dropped.size === 0 ? found : found.filter((error) => !dropped.has(error))
}

function isOtherBranch(
  error: ErrorObject,
  branch: string,
  choice: ErrorObject,
  schema: EngineSchema,
): boolean {
  if (!schema.reach(branch).has(ownerOf(error, schema) ?? '')) return false
  const rest = error.instancePath.slice(choice.instancePath.length)
  if (error.keyword === 'type') return rest === ''
  return (error.keyword === 'const' || error.keyword === 'enum') && rest.lastIndexOf('/') <= 0
}

function ownerOf(error: ErrorObject, schema: EngineSchema): string | undefined {
  return error.parentSchema === undefined ? undefined : schema.ownerOf.get(error.parentSchema)
}

function definitionIn(branch: unknown): string | undefined {
  if (typeof branch !== 'object' || branch === null || !('$ref' in branch)) return undefined
  return String(branch.$ref).replace('#/$defs/', '')
}
