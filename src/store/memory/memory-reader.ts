// The read side of the memory store: plain scans, so that what each read means can be seen.
import type { Entry, EntryState } from '../../contract/entry.ts'
import type { StoreReads } from '../assemble-store.ts'
import { matchesFilter } from '../call-filter.ts'
import { isSettled, isStoppable } from '../entry-rule.ts'
import type { ChainEnd, EntryFilter, ResourceRow } from '../store.ts'
import { compareText, findIdentity, freeTimers, type MemoryData, pairKey, timerKey } from './memory-data.ts'
import { lastCheckpoint } from './memory-evidence.ts'
import { budgetKey } from './memory-governance.ts'

export interface MemoryReaderOptions {
  readonly data: MemoryData
  /** The life that reads. */
  readonly epoch: string
  /** The store's clock. */
  readonly now: () => number
}

export function createMemoryReader({ data, epoch, now }: MemoryReaderOptions): StoreReads {
  return {
    entries: {
      find: (scope, key) => data.entries.get(pairKey(scope, key)),
      get: (namespace, id) => data.entries.get(data.entryKeys.get(pairKey(namespace, id)) ?? ''),
      findByIdentity: (identity, since) => findIdentity(data, identity, since),
      list: (filter) =>
        [...data.entries.values()]
          .filter((entry) => matchesEntry(entry, filter))
          .sort(newestFirst)
          .slice(0, filter.limit),
      countOpen() {
        const counts: Partial<Record<EntryState, number>> = {}
        for (const { state } of data.entries.values())
          if (!isSettled(state)) counts[state] = (counts[state] ?? 0) + 1
        return counts
      },
      cancelRequests: (limit) =>
        [...data.entries.values()]
          .filter((entry) => entry.epoch === epoch && entry.cancelRequested && isStoppable(entry.state))
          .slice(0, limit)
          .map(({ namespace, id }) => ({ namespace, id })),
    },
    calls: {
      get: (namespace, id) => data.calls.get(pairKey(namespace, id))?.record,
      list: (filter) =>
        [...data.calls.values()]
          .map(({ record }) => record)
          .filter((record) => matchesFilter(record, filter))
          .sort(newestFirst)
          .slice(0, filter.limit),
    },
    resources: {
      stamp: () => ({ last: data.resourceVersion, count: data.resources.size }),
      keys: () =>
        [...data.resources.values()]
          .sort(compareRows)
          .map(({ namespace, kind, name, version }) => ({ namespace, kind, name, version })),
      list: ({ namespace, kind, name, since = 0 }) =>
        [...data.resources.values()]
          .filter(
            (row) =>
              (namespace === undefined || row.namespace === namespace) &&
              (kind === undefined || row.kind === kind) &&
              (name === undefined || row.name === name) &&
              row.resourceVersion > since,
          )
          .sort(compareRows),
    },
    evidence: {
      links: (epoch, fromBatch, limit) =>
        (data.links.get(epoch) ?? []).filter((link) => link.batch >= fromBatch).slice(0, limit),
      epochs: () => [...data.lives.keys()],
      forCall: (namespace, callId) =>
        [...data.links.values()].flatMap((links) =>
          links.flatMap((link) =>
            link.records
              .filter((record) => record.namespace === namespace && record.callId === callId)
              .map(({ seq, hash, ...record }) => record),
          ),
        ),
      ends: () =>
        [...data.lives.values()].flatMap((life): ChainEnd[] => {
          const link = data.links.get(life.epoch)?.at(-1)
          if (link === undefined) return []
          const seq = link.records.at(-1)?.seq ?? 0
          return [{ epoch: life.epoch, batch: link.batch, seq, hash: link.hash, closed: life.ended }]
        }),
      checkpoints: (fromNumber, limit) =>
        [...data.checkpoints.values()].filter((row) => row.number >= fromNumber).slice(0, limit),
      lastCheckpoint: () => lastCheckpoint(data),
    },
    timers: {
      nextIn() {
        const [first] = freeTimers(data)
        return first === undefined ? undefined : Math.max(0, first.dueAt - now())
      },
      get: (namespace, kind, subject) => data.timers.get(timerKey(namespace, kind, subject))?.due,
    },
    sagas: {
      get: (namespace, id) => data.sagas.get(pairKey(namespace, id)),
      list: ({ namespace, actor, state, before, limit }) =>
        [...data.sagas.values()]
          .filter(
            (saga) =>
              saga.namespace === namespace &&
              (actor === undefined || saga.caller.actor === actor) &&
              (state === undefined || saga.state === state) &&
              (before === undefined || saga.id < before),
          )
          .sort(newestFirst)
          .slice(0, limit),
    },
    approvals: {
      get: (namespace, id) => data.approvals.get(pairKey(namespace, id)),
      list: ({ namespace, states, requester, tool, before, limit }) =>
        [...data.approvals.values()]
          .filter(
            (approval) =>
              approval.namespace === namespace &&
              (states === undefined || states.includes(approval.state)) &&
              (requester === undefined || approval.requester === requester) &&
              (tool === undefined || approval.binding.tool === tool) &&
              (before === undefined || approval.id < before),
          )
          .sort(newestFirst)
          .slice(0, limit),
    },
    budgets: {
      spent: (namespace, keys) => keys.map((key) => data.budgets.get(budgetKey(namespace, key))?.spent ?? 0),
    },
  }
}

function matchesEntry(entry: Entry, filter: EntryFilter): boolean {
  return (
    entry.namespace === filter.namespace &&
    (filter.states === undefined || filter.states.includes(entry.state)) &&
    (filter.saga === undefined || entry.saga === filter.saga) &&
    (filter.actor === undefined || entry.caller.actor === filter.actor) &&
    (filter.before === undefined || entry.id < filter.before)
  )
}

/** Ids sort by time. */
function newestFirst(a: { readonly id: string }, b: { readonly id: string }): number {
  return compareText(b.id, a.id)
}

function compareRows(a: ResourceRow, b: ResourceRow): number {
  return (
    compareText(a.namespace, b.namespace) ||
    compareText(a.kind, b.kind) ||
    compareText(a.name, b.name) ||
    compareText(a.version, b.version)
  )
}
