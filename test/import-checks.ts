// The checks that hold imports to the layers: which way they go, whether siblings know each other, and circles.
import { posix } from 'node:path'
import { type ImportFound, importsOf } from '../scripts/imports.ts'
import type { RepoFile } from '../scripts/repo-files.ts'
import { GRANTS, LAYERS, type Siblings, TYPES_OF, WAYS_OUT } from './layers.ts'

export interface Edge extends ImportFound {
  /** Both relative to src. */
  readonly from: string
  readonly to: string
}

/** The folder of src that a file is in, or the file itself where it is directly in src. */
export function layerOf(path: string): string {
  return path.split('/')[0] as string
}

/** Every import between files of src. `path` of each file starts with `src/`. */
export function edgesOf(files: readonly RepoFile[]): readonly Edge[] {
  return files.flatMap((file) => {
    const from = file.path.slice('src/'.length)
    return importsOf(file.text)
      .filter(({ specifier }) => specifier === '' || specifier.startsWith('.'))
      .map((found) => ({
        ...found,
        from,
        to: found.specifier === '' ? '' : posix.join(posix.dirname(from), found.specifier),
      }))
  })
}

const place = (edge: Edge): string => `src/${edge.from}:${edge.line}`

/** Imports that lead nowhere, out of src, or to a name that only the running program knows. */
export function brokenImports(edges: readonly Edge[], paths: ReadonlySet<string>): readonly string[] {
  return edges.flatMap((edge) => {
    if (WAYS_OUT.includes(edge.from) && (edge.to === '' || edge.to.startsWith('..'))) return []
    if (edge.to === '')
      return [`${place(edge)}: the specifier of import() is computed; write it as a literal`]
    if (edge.to === '../package.json') return []
    if (edge.to.startsWith('..')) return [`${place(edge)}: '${edge.specifier}' leaves src`]
    return paths.has(edge.to) ? [] : [`${place(edge)}: '${edge.specifier}' does not exist`]
  })
}

/** Imports that go up or sideways between layers. */
export function wrongWay(edges: readonly Edge[]): readonly string[] {
  return edges.flatMap((edge) => {
    const from = layerOf(edge.from)
    const to = layerOf(edge.to)
    if (from === to || edge.to === '' || edge.to.startsWith('..')) return []
    if (LAYERS[from]?.includes(to) || GRANTS[edge.from]?.includes(to)) return []
    if (edge.kind === 'type' && TYPES_OF[from]?.includes(to)) return []
    return [`${place(edge)}: ${from} may not import ${to} ('${edge.specifier}')`]
  })
}

type Part =
  | { readonly role: 'shared' | 'chooser' | 'unlisted' }
  | { readonly role: 'implementation'; readonly of: string }

/** What a file of a siblings folder is there for. */
export function partOf(siblings: Siblings, path: string): Part | undefined {
  if (!path.startsWith(`${siblings.folder}/`)) return undefined
  const name = path.slice(siblings.folder.length + 1)
  if (siblings.shared.includes(name)) return { role: 'shared' }
  if (siblings.choosers.includes(name)) return { role: 'chooser' }
  for (const [of, paths] of Object.entries(siblings.implementations)) {
    const own = paths.some((one) => (one.endsWith('/') ? name.startsWith(one) : name === one))
    if (own) return { role: 'implementation', of }
  }
  return { role: 'unlisted' }
}

/** Imports from one implementation into another, or from what they share into one of them. */
export function sideways(siblings: Siblings, edges: readonly Edge[]): readonly string[] {
  return edges.flatMap((edge) => {
    const from = partOf(siblings, edge.from)
    const to = partOf(siblings, edge.to)
    if (from === undefined || to === undefined || from.role === 'chooser') return []
    if (to.role === 'chooser')
      return [`${place(edge)}: only a runtime asks ${siblings.folder} to choose ('${edge.specifier}')`]
    if (to.role !== 'implementation') return []
    if (from.role === 'implementation' && from.of === to.of) return []
    return [`${place(edge)}: ${siblings.folder} '${to.of}' is imported by its sibling ('${edge.specifier}')`]
  })
}

/** Files that the table of siblings does not explain. */
export function unlisted(siblings: Siblings, paths: Iterable<string>): readonly string[] {
  return [...paths]
    .filter((path) => path.endsWith('.ts') && partOf(siblings, path)?.role === 'unlisted')
    .map((path) => `src/${path}: say in test/layers.ts whether it is shared or part of an implementation`)
}

/**
 * Cycles that exist at run time: the order of loading would decide what is defined. Imports of types are erased and
 * lazy ones run later; both may close a circle without harm.
 */
export function cycles(edges: readonly Edge[]): readonly string[] {
  const next = new Map<string, string[]>()
  for (const edge of edges) {
    if (edge.kind === 'value') next.set(edge.from, [...(next.get(edge.from) ?? []), edge.to])
  }
  const found: string[] = []
  const done = new Set<string>()
  const walk = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path)
    if (at >= 0) {
      found.push([...trail.slice(at), path].map((one) => `src/${one}`).join(' > '))
      return
    }
    if (done.has(path)) return
    for (const to of next.get(path) ?? []) walk(to, [...trail, path])
    done.add(path)
  }
  for (const path of next.keys()) walk(path, [])
  return found
}
