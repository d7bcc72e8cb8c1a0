// Parts that manifests about governance share, and how they are resolved: approvals, conditions, names of tools and callers.
import Type from 'typebox'
import { canonicalJson, sha256Hex } from '../util/canonical.ts'
import type { Json } from '../util/json.ts'
import { DAY_MS, type DurationBounds, readDuration } from './bounded-duration.ts'
import { comparedWith, isComparable } from './comparison.ts'
import type { ManifestHead } from './document.ts'
import { toPointer } from './input-field.ts'
import { isName } from './name.ts'
import type { Findings, Path } from './problem.ts'
import type { ApprovalRule, Condition } from './resolved-governance.ts'
import { COMPARISONS } from './resolved-tool.ts'
import type { ApprovalSchema } from './schema-part.ts'
import { closed } from './schema-part.ts'

export const Conditions = Type.Array(
  Type.Object(
    { field: Type.String(), op: Type.Enum(COMPARISONS), value: Type.Optional(Type.Unsafe<Json>({})) },
    closed,
  ),
)

const TTL_MS = 600_000
const TTL_BOUNDS: DurationBounds = Object.freeze({ min: 1_000, max: 30 * DAY_MS })
const MAX_QUORUM = 100

/** Whether the role exists is asked about the whole set. */
export function resolveApproval(
  findings: Findings,
  approval: Type.Static<typeof ApprovalSchema> | undefined,
  path: Path,
): ApprovalRule {
  const { role, quorum = 1, ttl } = approval ?? {}
  if (role !== undefined && !isName(role)) {
    findings.error([...path, 'role'], `'${role}' is no valid name`, 'write the name of an AgentRole')
  }
  if (quorum < 1 || quorum > MAX_QUORUM) {
    findings.error(
      [...path, 'quorum'],
      `must be 1 to ${MAX_QUORUM}; it is ${quorum}`,
      'write how many have to agree',
    )
  }
  const ttlMs = readDuration(findings, [...path, 'ttl'], ttl, TTL_BOUNDS) ?? TTL_MS
  return { ...(role === undefined ? {} : { role }), quorum, ttlMs }
}

export function resolveConditions(
  findings: Findings,
  when: Type.Static<typeof Conditions> | undefined,
  path: Path,
): Condition[] {
  return (when ?? []).flatMap(({ field, op, value }, index) => {
    if (!isComparable(op, value)) {
      findings.error([...path, index, 'value'], `does not fit op ${op}`, comparedWith(op))
      return []
    }
    return resolvePointer(findings, field, [...path, index, 'field']).map((at) => ({
      field: at,
      op,
      ...(value === undefined ? {} : { value }),
    }))
  })
}

/** None, with an error, for text that names no field. */
export function resolvePointer(findings: Findings, field: string, path: Path): [string] | [] {
  const at = toPointer(field)
  if (at !== undefined) return [at]
  findings.error(path, `'${field}' names no input field`, 'write a JSON pointer such as /order/amount')
  return []
}

/** Names of tools; `*` at the end of one stands for any rest. */
export function resolveToolPatterns(findings: Findings, names: readonly string[] = [], path: Path): string[] {
  for (const [index, written] of names.entries()) {
    const name = written.trim()
    const stem = name.endsWith('*') ? name.slice(0, -1) : name
    if (name !== '*' && !isName(stem)) {
      const fix = 'write the name of a tool; a `*` at its end stands for any rest'
      findings.error([...path, index], `'${written}' is no name of a tool`, fix)
    }
  }
  return distinct(names)
}

/** Callers, agents, systems and tasks; here, too, `*` at the end of one stands for any rest. */
export function resolveTargetNames(findings: Findings, names: readonly string[] = [], path: Path): string[] {
  for (const [index, written] of names.entries()) {
    const name = written.trim()
    const stem = name.endsWith('*') ? name.slice(0, -1) : name
    if (name === '*') {
      findings.warn([...path, index], 'means everybody who has a name', 'write apply_mode: global')
    } else if (!/^[^\s*\p{Cc}]{1,256}$/u.test(stem)) {
      const fix = 'write 1 to 256 characters without spaces; a `*` at the end stands for any rest'
      findings.error([...path, index], `'${written}' is no name`, fix)
    }
  }
  return distinct(names)
}

export function distinct(names: readonly string[]): string[] {
  return [...new Set(names.map((name) => name.trim()))]
}

/** Over what it means, so that every build that reads it in the same way gives it the same. */
export function governanceDigest(kind: string, meaning: object): string {
  return `sha256:${sha256Hex(kind, canonicalJson(JSON.parse(JSON.stringify(meaning)) as Json))}`
}

/** Who a governing resource is; `version` changes whenever what it means does. */
export function identify({ metadata }: ManifestHead, digest: string, generation = 0) {
  const short = digest.replace('sha256:', '').slice(0, 12)
  return {
    namespace: metadata.namespace ?? 'default',
    name: metadata.name,
    version: `${generation}-${short}`,
  }
}
