// What the memory store holds, and how it is found.
import type { CallRecord } from '../../contract/call.ts'
import type { Entry } from '../../contract/entry.ts'
import { holdsIdentity } from '../entry-rule.ts'
import type { ChainHead } from '../evidence-chain.ts'
import type { EvidenceLink, ResourceRow } from '../store.ts'

export interface MemoryData {
  /** By scope and key; in the order in which they were made. */
  readonly entries: Map<string, Entry>
  /** By namespace and id: where an entry is in `entries`. */
  readonly entryKeys: Map<string, string>
  /** By identity: where its entries are in `entries`, oldest first. */
  readonly identities: Map<string, string[]>
  /** By namespace and id. */
  readonly calls: Map<string, { readonly record: CallRecord; readonly erased: boolean }>
  readonly resources: Map<string, ResourceRow>
  resourceVersion: number
  /** By epoch, in the order in which they started. */
  readonly links: Map<string, EvidenceLink[]>
  readonly heads: Map<string, ChainHead>
}

export function createMemoryData(): MemoryData {
  return {
    entries: new Map(),
    entryKeys: new Map(),
    identities: new Map(),
    calls: new Map(),
    resources: new Map(),
    resourceVersion: 0,
    links: new Map(),
    heads: new Map(),
  }
}

/** Two texts as one map key. The length keeps ('a', 'bc') apart from ('ab', 'c'). */
export function pairKey(first: string, second: string): string {
  return `${first.length}:${first}${second}`
}

/** The newest entry that holds this identity and was made at or after `since` (S14). */
export function findIdentity(data: MemoryData, identity: string, since: number): Entry | undefined {
  let newest: Entry | undefined
  for (const at of data.identities.get(identity) ?? []) {
    const entry = data.entries.get(at)
    if (entry === undefined || entry.createdAt < since || !holdsIdentity(entry.state)) continue
    if (newest === undefined || entry.createdAt >= newest.createdAt) newest = entry
  }
  return newest
}
