// What governs each namespace, live: made from kept rows, made anew when one of them changes. Fails closed.
import { createGovernanceSet } from '../resource/governance-set.ts'
import { type Declared, KINDS, resolveManifest } from '../resource/kinds.ts'
import { readManifestValue } from '../resource/manifest.ts'
import type { ResolveOptions } from '../resource/resolve-tool.ts'
import type { GovernanceSet } from '../resource/resolved-governance.ts'
import type { ResourceRow } from '../store/store.ts'

/** A namespace that has a row which cannot be read is not governed by the rest: nobody knows what that row forbids. */
export type Governance =
  | { readonly kind: 'ready'; readonly set: GovernanceSet }
  | { readonly kind: 'unavailable'; readonly why: string }

export interface LiveGovernance {
  /** Until rows were read for the first time, nothing is known. */
  readonly read: boolean
  of(namespace: string): Governance
  /** Rows of a kind that no manifest declares, of this very namespace. */
  rowsOf(kind: string, namespace: string): readonly ResourceRow[]
  take(row: ResourceRow): void
  drop(row: ResourceRow): void
  /** From here on what is not there does not exist; before, it may only not have been read. */
  markRead(): void
  /** Tells of the namespaces that changed since the last time. */
  tell(): void
  onChange(listener: GovernanceListener): () => void
}

/** `*` is every namespace. */
export type GovernanceListener = (namespace: string, kind: string) => void

const EVERYWHERE = '*'
const NONE: Governance = Object.freeze({ kind: 'ready', set: createGovernanceSet([]) })
const UNREAD: Governance = Object.freeze({
  kind: 'unavailable',
  why: 'what governs this namespace has not been read yet',
})

interface Kept {
  readonly row: ResourceRow
  /** Absent for rows that are no manifests, and where `why` says what is wrong. */
  readonly declared?: Declared
  readonly why?: string
}

/** `plain` are kinds of rows that are kept as they are, for `rowsOf`; any other that is not known was written by a newer Writ. */
export function createLiveGovernance(resolve: ResolveOptions, plain: readonly string[]): LiveGovernance {
  const namespaces = new Map<string, Map<string, Kept>>()
  const made = new Map<string, Governance>()
  const changed = new Map<string, { readonly namespace: string; readonly kind: string }>()
  const listeners = new Set<GovernanceListener>()
  let read = false
  const keyOf = ({ kind, name, version }: ResourceRow) => JSON.stringify([kind, name, version])
  const keptIn = (namespace: string) => [...(namespaces.get(namespace)?.values() ?? [])]

  /** What is no part of the set leaves it the very same one: whoever compiled it need not do so again. */
  function mark({ namespace, kind }: ResourceRow): void {
    if (!plain.includes(kind)) {
      if (namespace === EVERYWHERE) made.clear()
      else made.delete(namespace)
    }
    changed.set(JSON.stringify([namespace, kind]), { namespace, kind })
  }

  function make(namespace: string): Governance {
    const kept = keptIn(namespace)
    const broken = [...kept, ...keptIn(EVERYWHERE)].find((one) => one.why !== undefined)
    if (broken?.why !== undefined) return { kind: 'unavailable', why: broken.why }
    const declared = kept.flatMap((one) => one.declared ?? [])
    return declared.length === 0 ? NONE : { kind: 'ready', set: createGovernanceSet(declared) }
  }

  return {
    get read() {
      return read
    },

    of(namespace) {
      if (!read) return UNREAD
      const known = made.get(namespace)
      if (known !== undefined) return known
      const governance = make(namespace)
      // Callers name namespaces: only those that have something are remembered.
      if (governance !== NONE) made.set(namespace, governance)
      return governance
    },

    rowsOf: (kind, namespace) =>
      keptIn(namespace)
        .map((one) => one.row)
        .filter((row) => row.kind === kind),

    take(row) {
      const kept = namespaces.get(row.namespace) ?? new Map<string, Kept>()
      namespaces.set(
        row.namespace,
        kept.set(keyOf(row), plain.includes(row.kind) ? { row } : judge(row, resolve)),
      )
      mark(row)
    },

    drop(row) {
      const kept = namespaces.get(row.namespace)
      kept?.delete(keyOf(row))
      if (kept?.size === 0) namespaces.delete(row.namespace)
      mark(row)
    },

    markRead() {
      read = true
    },

    tell() {
      const all = [...changed.values()]
      changed.clear()
      for (const { namespace, kind } of all) for (const listener of listeners) listener(namespace, kind)
    },

    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** By the rules of a laptop: what was accepted once is not judged again, it only has to be understood. */
function judge(row: ResourceRow, resolve: ResolveOptions): Kept {
  const who = `${row.kind} ${row.name}`
  if (!KINDS.some((kind) => kind.name === row.kind))
    return { row, why: `${who} is of a kind that this build does not know` }
  const { documents, problems } = readManifestValue(row.body, row.name)
  const [document] = documents
  const said = problems.filter((one) => one.severity === 'error').map((one) => `${one.path}: ${one.message}`)
  if (document === undefined) return { row, why: `${who} cannot be read by this build: ${said.join('; ')}` }
  const { generation } = row
  const { declared, errors } = resolveManifest(document.manifest, {
    ...resolve,
    profile: 'local',
    generation,
  })
  if (declared !== undefined) return { row, declared }
  return { row, why: `${who} cannot be used by this build: ${errors.map((one) => one.message).join('; ')}` }
}
