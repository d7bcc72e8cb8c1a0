// Other spellings of a field, read into the canonical one (S48). Works on the source tree, so positions go along.
import type { FieldAlias, FieldRow, FieldTable, ReadRule } from './field-row.ts'
import { formatPath, type Path, type Position, type Severity } from './problem.ts'
import { readValue } from './read-rule.ts'
import type { SourceEntry, SourceNode, SourceObject } from './source-tree.ts'

export interface AliasProblem {
  readonly at: Position
  readonly path: Path
  readonly message: string
  readonly fix?: string
  readonly severity: Severity
}

interface Move {
  readonly from: readonly string[]
  readonly to: readonly string[]
  readonly alias: FieldAlias
}

interface Fold {
  readonly path: readonly string[]
  readonly rule: ReadRule
}

/** The other spellings of one kind. */
export interface Aliases {
  /** Renames in place. Says what was read differently from how it was written, and what was said twice. */
  read(root: SourceObject): readonly AliasProblem[]
  /** The spellings that are known beside the canonical ones directly under `parent`, for "did you mean". */
  names(parent: Path): readonly string[]
}

export function createAliases(table: FieldTable): Aliases {
  // Containers stand before their parts in the table, so a part finds its container already in place.
  const rows = rowsOf(table)
  const moves = rows.flatMap(movesOf)
  const folds = rows.flatMap(foldOf)
  return {
    read(root) {
      const problems: AliasProblem[] = []
      for (const move of moves) applyMove(root, move, [], problems)
      for (const fold of folds) applyFold(root, fold, [], problems)
      return problems
    },

    names(parent) {
      const under = (from: readonly string[]) =>
        from.length > parent.length &&
        parent.every((segment, i) => from[i] === segment || from[i] === '*' || from[i] === '[]')
      return moves.filter((move) => under(move.from)).map((move) => move.from[parent.length] ?? '')
    },
  }
}

/** Every row, and those of a block once more for each place that has its shape. */
export function rowsOf(table: FieldTable): readonly FieldRow[] {
  return [...table.rows, ...twins(table)]
}

/** `a.b[].c` as its segments, where `[]` is one. */
export function split(path: string): string[] {
  return path.replaceAll('[]', '.[]').split('.')
}

function movesOf(row: FieldRow): Move[] {
  return row.aliases.map((alias) => ({ from: split(alias.path), to: split(row.path), alias }))
}

function foldOf(row: FieldRow): Fold[] {
  return row.reads === undefined ? [] : [{ path: split(row.path), rule: row.reads }]
}

/** The rows of a block, once more for each place that has the same shape. */
function twins(table: FieldTable): FieldRow[] {
  const rows: FieldRow[] = []
  for (const { from, to } of table.sameShape) {
    for (const row of table.rows) {
      if (!row.path.startsWith(from)) continue
      const aliases = row.aliases.flatMap((alias) => twinAlias(alias, from, to))
      rows.push({ ...row, path: to + row.path.slice(from.length), aliases })
    }
  }
  return rows
}

/** `spec.sideEffectClass` stands beside the block; inside an operation it stands beside the operation's block. */
function twinAlias(alias: FieldAlias, from: string, to: string): FieldAlias[] {
  if (alias.path.startsWith(from)) return [{ ...alias, path: to + alias.path.slice(from.length) }]
  const beside = from === 'spec.effect' && /^spec\.[A-Za-z]+$/.test(alias.path)
  return beside ? [{ ...alias, path: alias.path.replace('spec.', 'spec.operations.*.') }] : []
}

function applyMove(node: SourceNode, move: Move, path: Path, problems: AliasProblem[]): void {
  const { from, to } = move
  const [head, ...rest] = from
  // Down the shared part of both paths, into every entry and item that it stands for.
  if (head !== undefined && head === to[0] && from.length > 1 && to.length > 1) {
    const next = { ...move, from: rest, to: to.slice(1) }
    for (const [segment, child] of childrenOf(node, head))
      applyMove(child, next, [...path, segment], problems)
    return
  }
  if (node.kind !== 'object') return
  const taken = take(node, from, move.alias.when)
  if (taken === undefined) return
  const canonical = formatPath([...path, ...to])
  const value = move.alias.as === undefined ? taken.node : readValue(move.alias.as, taken.node).node
  if (!place(node, to, { keyAt: taken.keyAt, node: value })) {
    problems.push({
      at: taken.keyAt,
      path: [...path, ...from],
      message: `says the same as ${canonical}, which is given too`,
      fix: `keep ${canonical}`,
      severity: 'error',
    })
  }
}

function childrenOf(node: SourceNode, head: string): [string | number, SourceNode][] {
  if (head === '[]') return node.kind === 'list' ? [...node.items.entries()] : []
  if (node.kind !== 'object') return []
  if (head === '*') return [...node.entries].map(([key, entry]) => [key, entry.node])
  const entry = node.entries.get(head)
  return entry === undefined ? [] : [[head, entry.node]]
}

/** Takes the entry out, and with it the containers that it leaves empty, `spec` and `metadata` aside. */
function take(
  node: SourceObject,
  from: readonly string[],
  when: FieldAlias['when'],
): SourceEntry | undefined {
  const [head, ...rest] = from
  const entry = head === undefined ? undefined : node.entries.get(head)
  if (head === undefined || entry === undefined) return undefined
  if (rest.length === 0) {
    if (when === 'object' && entry.node.kind !== 'object') return undefined
    if (when === 'text' && entry.node.kind !== 'scalar') return undefined
    node.entries.delete(head)
    return entry
  }
  if (entry.node.kind !== 'object') return undefined
  const taken = take(entry.node, rest, when)
  const emptied = taken !== undefined && entry.node.entries.size === 0
  if (emptied && head !== 'spec' && head !== 'metadata') node.entries.delete(head)
  return taken
}

/** False when something is there already. A container that has to be made stands where its first part does. */
function place(node: SourceObject, to: readonly string[], entry: SourceEntry): boolean {
  const [head, ...rest] = to
  if (head === undefined) return false
  const there = node.entries.get(head)
  if (rest.length === 0) {
    if (there !== undefined) return false
    node.entries.set(head, entry)
    return true
  }
  if (there !== undefined && there.node.kind !== 'object') return false
  const container: SourceObject =
    there?.node.kind === 'object' ? there.node : { kind: 'object', at: entry.keyAt, entries: new Map() }
  if (there === undefined) node.entries.set(head, { keyAt: entry.keyAt, node: container })
  return place(container, rest, entry)
}

function applyFold(node: SourceNode, fold: Fold, path: Path, problems: AliasProblem[]): void {
  const [head, ...rest] = fold.path
  if (head === undefined) return
  if (rest.length > 0) {
    for (const [segment, child] of childrenOf(node, head)) {
      applyFold(child, { ...fold, path: rest }, [...path, segment], problems)
    }
    return
  }
  if (node.kind !== 'object') return
  const entry = node.entries.get(head)
  if (entry === undefined) return
  const read = readValue(fold.rule, entry.node)
  if (read.warning !== undefined) {
    problems.push({
      at: entry.node.at,
      path: [...path, head],
      message: read.warning.message,
      fix: read.warning.fix,
      severity: 'warning',
    })
  }
  if (read.node !== entry.node) node.entries.set(head, { keyAt: entry.keyAt, node: read.node })
}
