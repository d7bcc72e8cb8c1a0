// What an apply would change, field by field, for people and programs. Never shows what may be a secret.
import { isJsonObject, type Json, type JsonObject } from '../util/json.ts'
import { kindNamed } from './kinds.ts'
import { formatPath, type Path, printable } from './problem.ts'

export interface FieldChange {
  readonly op: 'add' | 'remove' | 'change'
  /** As people write it: spec.runtime.timeout */
  readonly path: string
  readonly from?: Json
  readonly to?: Json
}

export interface DiffEntry {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly version: string
  readonly action: 'create' | 'update' | 'unchanged'
  readonly changes: readonly FieldChange[]
}

const MASK = '***'
/** Any index or name. */
const ANY = '*'
/** Values that are meant to be plain, and sometimes are not; and those of secrets, which are not to be plain. */
const MASKED: readonly Path[] = Object.freeze([
  ['spec', 'cli', 'env'],
  // Of McpServer: a list, in which names are shown.
  ['spec', 'env', ANY, 'value'],
  ['spec', 'data'],
  ['spec', 'stringData'],
])
/** How what is sealed was sealed: nobody declares it. */
const SEALING = 'sealing'

export function diffBodies(from: JsonObject | undefined, to: JsonObject): FieldChange[] {
  const changes: FieldChange[] = []
  compare(from, to, [], changes)
  return changes
}

function compare(from: Json | undefined, to: Json | undefined, path: Path, changes: FieldChange[]): void {
  if (isContainer(from) || isContainer(to)) {
    // Another kind of value goes as a whole and comes as a whole; else child by child.
    if (Array.isArray(from) !== Array.isArray(to) && isContainer(from) && isContainer(to)) {
      compare(from, undefined, path, changes)
      compare(undefined, to, path, changes)
      return
    }
    if (!isContainer(from) && from !== undefined) note(from, undefined, path, changes)
    const before = childrenOf(from)
    const after = childrenOf(to)
    for (const key of new Set([...before.keys(), ...after.keys()])) {
      compare(before.get(key), after.get(key), [...path, key], changes)
    }
    if (!isContainer(to) && to !== undefined) note(undefined, to, path, changes)
    if (isEmpty(from) !== isEmpty(to))
      note(isEmpty(from) ? from : undefined, isEmpty(to) ? to : undefined, path, changes)
  } else if (from !== to) note(from, to, path, changes)
}

function note(from: Json | undefined, to: Json | undefined, path: Path, changes: FieldChange[]): void {
  if (path[0] === SEALING) return
  const masked = MASKED.some((one) =>
    one.every((segment, index) => segment === ANY || path[index] === segment),
  )
  const shown = (value: Json) => (masked ? MASK : value)
  changes.push({
    op: from === undefined ? 'add' : to === undefined ? 'remove' : 'change',
    path: formatPath(path),
    ...(from === undefined ? {} : { from: shown(from) }),
    ...(to === undefined ? {} : { to: shown(to) }),
  })
}

function isContainer(value: Json | undefined): value is JsonObject | readonly Json[] {
  return typeof value === 'object' && value !== null
}

/** An empty one has no child that could be told apart from nothing. */
function isEmpty(value: Json | undefined): boolean {
  return isContainer(value) && Object.keys(value).length === 0
}

function childrenOf(value: Json | undefined): Map<string | number, Json> {
  if (Array.isArray(value)) return new Map(value.entries())
  return new Map(isJsonObject(value) ? Object.entries(value) : [])
}

/** One block per resource, as `diff -u` writes it. Plain text. */
export function formatDiff(diff: readonly DiffEntry[]): string {
  return diff.map(formatEntry).join('\n')
}

function formatEntry(entry: DiffEntry): string {
  const version = kindNamed(entry.kind)?.versioned === false ? '' : ` ${entry.version}`
  const who = printable(`${entry.kind} ${entry.namespace}/${entry.name}${version}`)
  if (entry.action === 'unchanged') return `    ${who}: unchanged\n`
  const lines = [
    `--- ${entry.action === 'create' ? '(nothing)' : `${who} (applied)`}`,
    `+++ ${who} (declared)`,
  ]
  for (const { path, from, to } of entry.changes) {
    if (from !== undefined) lines.push(`- ${path}: ${JSON.stringify(from)}`)
    if (to !== undefined) lines.push(`+ ${path}: ${JSON.stringify(to)}`)
  }
  return `${lines.map(printable).join('\n')}\n`
}
