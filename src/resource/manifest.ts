// Reads manifest files: YAML or JSON, one document or many, in any of the spellings that are known (S48).
import { didYouMean } from '../util/did-you-mean.ts'
import type { Json } from '../util/json.ts'
import { type Aliases, createAliases } from './alias.ts'
import { createShapeCheck, type ShapeCheck } from './check-shape.ts'
import { API_VERSION, API_VERSIONS } from './document.ts'
import { KEPT_KINDS, KINDS, type KindName, kindNamed, type Manifest } from './kinds.ts'
import { inReadingOrder, type Path, type Position, type Problem, toProblem } from './problem.ts'
import { inlineSchemaFiles, type LoadFile } from './schema-file.ts'
import {
  fromJson,
  locate,
  locateInside,
  type SourceEntry,
  type SourceNode,
  type SourceObject,
  toJson,
} from './source-tree.ts'
import { readYaml } from './yaml-source.ts'

export { formatProblem, type Problem } from './problem.ts'

export interface ManifestDocument<M extends Manifest = Manifest> {
  readonly file: string
  readonly kind: M['kind']
  /** In canonical field names, of the right shape; what it means is checked when it is resolved. */
  readonly manifest: M
  /** Where a path, or the nearest part of it that is there, was written; `inside` is a place in the text that is there. */
  at(path: Path, inside?: Position): Position
}

export interface Manifests {
  readonly documents: readonly ManifestDocument[]
  readonly problems: readonly Problem[]
}

export interface ReadManifestsOptions {
  /** Gives the content of a file that a manifest names, relative to it. Without it such names stay, and calls are refused. */
  readonly load?: LoadFile
}

/** What reads the documents of a kind. */
interface Reader {
  readonly aliases: Aliases
  readonly check: ShapeCheck
}

const READERS: ReadonlyMap<KindName, Reader> = new Map(
  KINDS.map(({ name, schema, fields, shown }) => {
    const aliases = createAliases(fields)
    return [name, { aliases, check: createShapeCheck(schema, aliases.names, shown !== undefined) }]
  }),
)

/** Never throws. Documents with errors are left out; the others are there. */
export function readManifests(
  source: string | Uint8Array,
  file: string,
  options: ReadManifestsOptions = {},
): Manifests {
  const { documents: roots, problems: broken } = readYaml(source)
  const problems: Problem[] = broken.map(({ at, ...problem }) =>
    toProblem({ ...problem, severity: 'error' }, file, at),
  )
  const documents: ManifestDocument[] = []
  for (const root of roots) {
    const read = readDocument(root, file, options)
    problems.push(...read.problems)
    if (read.document !== undefined) documents.push(read.document)
  }
  return { documents, problems: inReadingOrder(problems) }
}

/** Of one kind, where any other is a mistake of the program. */
export function isOfKind<K extends KindName>(
  document: ManifestDocument | undefined,
  kind: K,
): document is ManifestDocument<Extract<Manifest, { readonly kind: K }>> {
  return document?.kind === kind
}

/** The same for a value that is no text: a stored row, or what a program declares. Every place is 1:1. */
export function readManifestValue(value: Json, file: string): Manifests {
  const { document, problems } = readDocument(fromJson(value, { line: 1, column: 1 }), file, {})
  return { documents: document === undefined ? [] : [document], problems }
}

interface ReadDocument {
  readonly document?: ManifestDocument
  readonly problems: readonly Problem[]
}

function readDocument(written: SourceNode, file: string, options: ReadManifestsOptions): ReadDocument {
  const problems: Problem[] = []
  const refuse = (at: Position, path: Path, message: string, fix?: string) =>
    problems.push(
      toProblem({ path, message, severity: 'error', ...(fix === undefined ? {} : { fix }) }, file, at),
    )

  if (written.kind !== 'object') {
    refuse(written.at, [], 'a manifest is a map of fields', 'start with apiVersion and kind')
    return { problems }
  }
  const root = isFlat(written) ? fromFlat(written) : written
  const kind = readKind(root, refuse)
  const reader = kind === undefined ? undefined : READERS.get(kind)
  const versionKnown = readApiVersion(root, refuse)
  // The fields of another kind are unknown here, each of them: only the kind is worth saying.
  if (kind === undefined || reader === undefined) return { problems }

  for (const { at, ...problem } of reader.aliases.read(root)) problems.push(toProblem(problem, file, at))
  if (options.load !== undefined) inlineSchemaFiles(root, options.load, refuse)
  const json = toJson(root)
  for (const { on, path, message, fix } of reader.check(json)) {
    if (!versionKnown && path[0] === 'apiVersion') continue
    refuse(locate(root, path, on), path, message, fix)
  }
  if (problems.some((problem) => problem.severity === 'error')) return { problems }
  const manifest = json as unknown as Manifest
  const at = (path: Path, inside?: Position) =>
    inside === undefined ? locate(root, path) : locateInside(root, path, inside)
  return { document: { file, kind, manifest, at }, problems }
}

/** Seed 004's tool.yaml and seed 001's contract are one flat map; everything in it belongs under spec. */
function isFlat(root: SourceObject): boolean {
  const { entries } = root
  return !entries.has('kind') && !entries.has('spec') && (entries.has('tool_id') || entries.has('toolId'))
}

function fromFlat(root: SourceObject): SourceObject {
  const text = (value: string): SourceEntry => ({
    keyAt: root.at,
    node: { kind: 'scalar', at: root.at, value },
  })
  const spec = { ...root, entries: new Map(root.entries) }
  const entries = new Map<string, SourceEntry>([
    ['apiVersion', spec.entries.get('apiVersion') ?? text(API_VERSION)],
    ['kind', text('Tool')],
    ['spec', { keyAt: root.at, node: spec }],
  ])
  spec.entries.delete('apiVersion')
  return { kind: 'object', at: root.at, entries }
}

type Refuse = (at: Position, path: Path, message: string, fix?: string) => void

function readKind(root: SourceObject, refuse: Refuse): KindName | undefined {
  const names = KINDS.map((kind) => kind.name)
  const entry = root.entries.get('kind')
  if (entry === undefined) {
    refuse(
      root.at,
      ['kind'],
      'is missing',
      `add kind: Tool, or another one of ${names.filter((name) => name !== 'Tool').join(', ')}`,
    )
    return undefined
  }
  const value = entry.node.kind === 'scalar' ? entry.node.value : undefined
  const kind = kindNamed(String(value))?.name
  if (typeof value === 'string' && kind !== undefined) {
    root.entries.set('kind', { ...entry, node: { kind: 'scalar', at: entry.node.at, value: kind } })
    return kind
  }
  const kept = [...KEPT_KINDS].find(([name]) => name.toLowerCase() === String(value).toLowerCase())
  if (kept !== undefined) {
    refuse(entry.node.at, ['kind'], `a ${kept[0]} is not declared by a manifest`, kept[1])
    return undefined
  }
  const guess = typeof value === 'string' ? didYouMean(value, names) : undefined
  const what = typeof value === 'string' ? `'${value}' is not known` : 'must be text'
  const fix = guess === undefined ? `use one of ${names.join(', ')}` : `did you mean ${guess}?`
  refuse(entry.node.at, ['kind'], what, fix)
  return undefined
}

function readApiVersion(root: SourceObject, refuse: Refuse): boolean {
  const entry = root.entries.get('apiVersion')
  if (entry === undefined) {
    refuse(root.at, ['apiVersion'], 'is missing', `add apiVersion: ${API_VERSION}`)
    return false
  }
  const value = entry.node.kind === 'scalar' ? entry.node.value : undefined
  if (!API_VERSIONS.some((one) => one === value)) {
    const what = typeof value === 'string' ? `'${value}' is not known` : 'must be text'
    refuse(entry.node.at, ['apiVersion'], what, `write apiVersion: ${API_VERSION}`)
    return false
  }
  root.entries.set('apiVersion', {
    ...entry,
    node: { kind: 'scalar', at: entry.node.at, value: API_VERSION },
  })
  return true
}
