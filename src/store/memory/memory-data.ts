// What the memory store holds, and how it is found.
import type { Approval } from '../../contract/approval.ts'
import type { CallRecord } from '../../contract/call.ts'
import type { Entry } from '../../contract/entry.ts'
import type { Saga } from '../../contract/saga.ts'
import { holdsIdentity } from '../entry-rule.ts'
import type { ChainHead } from '../evidence-chain.ts'
import type { HeldSpend } from '../spend-rule.ts'
import type { CheckpointRow, DueTimer, EvidenceLink, ResourceRow, TimerKind } from '../store.ts'

export interface MemoryData {
  /** By scope and key; in the order in which they were made. */
  readonly entries: Map<string, Entry>
  /** By namespace and id: where an entry is in `entries`. */
  readonly entryKeys: Map<string, string>
  /** By identity: where its entries are in `entries`, oldest first. */
  readonly identities: Map<string, string[]>
  /** By namespace and id. */
  readonly calls: Map<string, { readonly record: CallRecord; readonly erased: boolean }>
  /** By namespace, kind and subject. */
  readonly timers: Map<string, MemoryTimer>
  /** By namespace and id. */
  readonly sagas: Map<string, Saga>
  /** By namespace and id. */
  readonly approvals: Map<string, Approval>
  /** By namespace and entry id: where its approvals are in `approvals`. */
  readonly approvalsOf: Map<string, string[]>
  /** By namespace and period of a budget. */
  readonly budgets: Map<string, MemoryBudget>
  /** By scope and key: what that entry holds of budgets. */
  readonly held: Map<string, readonly HeldSpend[]>
  readonly resources: Map<string, ResourceRow>
  /** By namespace and name: the resources that stop calls. */
  readonly stops: Map<string, readonly ResourceRow[]>
  resourceVersion: number
  /** By epoch, in the order in which they started. */
  readonly lives: Map<string, MemoryLife>
  /** By epoch: what is kept of each chain, in order. */
  readonly links: Map<string, EvidenceLink[]>
  /** By epoch: where each chain ends, whatever is still kept of it. */
  readonly heads: Map<string, ChainHead>
  /** By number, in order. */
  readonly checkpoints: Map<number, CheckpointRow>
}

export interface MemoryTimer {
  readonly due: DueTimer
  /** The life that has it in hand. */
  readonly claimedBy?: string
}

export interface MemoryBudget {
  readonly until: number
  readonly spent: number
}

export interface MemoryLife {
  readonly epoch: string
  readonly ordinal: number
  readonly ended: boolean
  /** By the store's clock; Infinity where one process owns the store alone. */
  readonly expiresAt: number
  readonly seen: number
  readonly over: Readonly<Record<string, number>>
}

export function createMemoryData(): MemoryData {
  return {
    entries: new Map(),
    entryKeys: new Map(),
    identities: new Map(),
    calls: new Map(),
    timers: new Map(),
    sagas: new Map(),
    approvals: new Map(),
    approvalsOf: new Map(),
    budgets: new Map(),
    held: new Map(),
    resources: new Map(),
    stops: new Map(),
    resourceVersion: 0,
    lives: new Map(),
    links: new Map(),
    heads: new Map(),
    checkpoints: new Map(),
  }
}

/** Two texts as one map key. The length keeps ('a', 'bc') apart from ('ab', 'c'). */
export function pairKey(first: string, second: string): string {
  return `${first.length}:${first}${second}`
}

export function timerKey(namespace: string, kind: TimerKind, subject: string): string {
  return pairKey(namespace, pairKey(kind, subject))
}

/** Nobody works under this epoch any more: what it left may be taken over. */
export function isOver(data: MemoryData, epoch: string): boolean {
  return data.lives.get(epoch)?.ended !== false
}

/** Timers that nobody has in hand, the first that is due first. */
export function freeTimers(data: MemoryData): readonly DueTimer[] {
  return [...data.timers.values()]
    .filter(({ claimedBy }) => claimedBy === undefined || isOver(data, claimedBy))
    .map(({ due }) => due)
    .sort(
      (a, b) =>
        a.dueAt - b.dueAt ||
        compareText(a.namespace, b.namespace) ||
        compareText(a.kind, b.kind) ||
        compareText(a.subject, b.subject),
    )
}

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The entry that holds this identity, with the newest `identityAt`, at or after `since` (S14). */
export function findIdentity(data: MemoryData, identity: string, since: number): Entry | undefined {
  let newest: Entry | undefined
  let newestAt = since
  for (const at of data.identities.get(identity) ?? []) {
    const entry = data.entries.get(at)
    if (entry?.identityAt === undefined || entry.identityAt < newestAt || !holdsIdentity(entry.state))
      continue
    newest = entry
    newestAt = entry.identityAt
  }
  return newest
}
