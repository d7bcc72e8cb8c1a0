// A parsed document that still knows where everything was written. Aliases move nodes, positions go along.
import type { Json } from '../util/json.ts'
import type { Path, Position } from './problem.ts'

export interface SourceEntry {
  readonly keyAt: Position
  readonly node: SourceNode
}

export interface SourceObject {
  readonly kind: 'object'
  readonly at: Position
  readonly entries: Map<string, SourceEntry>
}

export interface SourceList {
  readonly kind: 'list'
  readonly at: Position
  readonly items: SourceNode[]
}

export interface SourceScalar {
  readonly kind: 'scalar'
  readonly at: Position
  readonly value: string | number | boolean | null
  /** Where the text itself begins, where its lines are kept as they are: a YAML block of `|`, or one line. */
  readonly textAt?: Position
}

export type SourceNode = SourceObject | SourceList | SourceScalar

export function toJson(node: SourceNode): Json {
  if (node.kind === 'scalar') return node.value
  if (node.kind === 'list') return node.items.map(toJson)
  const object: Record<string, Json> = {}
  for (const [key, entry] of node.entries) object[key] = toJson(entry.node)
  return object
}

/** The inverse, for values that were never text: everything is at one place. */
export function fromJson(value: Json, at: Position): SourceNode {
  if (typeof value !== 'object' || value === null) return { kind: 'scalar', at, value }
  if (Array.isArray(value)) return { kind: 'list', at, items: value.map((item) => fromJson(item, at)) }
  const entries = new Map<string, SourceEntry>()
  for (const [key, item] of Object.entries(value)) entries.set(key, { keyAt: at, node: fromJson(item, at) })
  return { kind: 'object', at, entries }
}

/** A place inside a text; where the text was written in a form that moves its lines, the text as a whole. */
export function locateInside(root: SourceNode, path: Path, inside: Position): Position {
  let node: SourceNode | undefined = root
  for (const segment of path) {
    if (node?.kind === 'object') node = node.entries.get(String(segment))?.node
    else node = node?.kind === 'list' ? node.items[Number(segment)] : undefined
  }
  const start = node?.kind === 'scalar' ? node.textAt : undefined
  if (start === undefined) return locate(root, path)
  return { line: start.line + inside.line - 1, column: start.column + inside.column - 1 }
}

/** The entry or item at `path`, as far as it goes. Past the end, the key of the last that is there. */
export function locate(root: SourceNode, path: Path, what: 'key' | 'value' = 'value'): Position {
  let node = root
  let keyAt = root.at
  for (const segment of path) {
    if (node.kind === 'object' && node.entries.has(String(segment))) {
      const entry = node.entries.get(String(segment)) as SourceEntry
      node = entry.node
      keyAt = entry.keyAt
    } else if (node.kind === 'list' && typeof segment === 'number' && segment < node.items.length) {
      node = node.items[segment] as SourceNode
      keyAt = node.at
    } else {
      return keyAt
    }
  }
  return what === 'key' || isAbsent(node) ? keyAt : node.at
}

/** `name:` with nothing after it has no place of its own. */
function isAbsent(node: SourceNode): boolean {
  return node.kind === 'scalar' && node.value === null
}
