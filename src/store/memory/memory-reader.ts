// The read side of the memory store: plain scans, so that what each read means can be seen.
import type { EntryState } from '../../contract/entry.ts'
import type { StoreReads } from '../assemble-store.ts'
import { matchesFilter } from '../call-filter.ts'
import type { ResourceRow } from '../store.ts'
import { findIdentity, type MemoryData, pairKey } from './memory-data.ts'

export function createMemoryReader(data: MemoryData): StoreReads {
  return {
    entries: {
      find: (scope, key) => data.entries.get(pairKey(scope, key)),
      get: (namespace, id) => data.entries.get(data.entryKeys.get(pairKey(namespace, id)) ?? ''),
      findByIdentity: (identity, since) => findIdentity(data, identity, since),
      orphans: (epoch, limit) =>
        [...data.entries.values()]
          .filter((entry) => (entry.state === 'intended' || entry.state === 'sent') && entry.epoch !== epoch)
          .slice(0, limit),
      countByState: (state: EntryState) =>
        [...data.entries.values()].filter((entry) => entry.state === state).length,
    },
    calls: {
      get: (namespace, id) => data.calls.get(pairKey(namespace, id))?.record,
      list: (filter) =>
        [...data.calls.values()]
          .map(({ record }) => record)
          .filter((record) => matchesFilter(record, filter))
          .sort((a, b) => (a.id < b.id ? 1 : -1))
          .slice(0, filter.limit),
      orphans: (epoch, limit) =>
        [...data.calls.values()]
          .map(({ record }) => record)
          .filter((record) => record.state === 'running' && record.epoch !== epoch)
          .slice(0, limit),
    },
    resources: {
      list: ({ namespace, kind, name }) =>
        [...data.resources.values()]
          .filter(
            (row) =>
              (namespace === undefined || row.namespace === namespace) &&
              (kind === undefined || row.kind === kind) &&
              (name === undefined || row.name === name),
          )
          .sort(compareRows),
    },
    evidence: {
      links: (epoch, fromBatch, limit) =>
        (data.links.get(epoch) ?? []).filter((link) => link.batch >= fromBatch).slice(0, limit),
      epochs: () => [...data.links.keys()],
      forCall: (namespace, callId) =>
        [...data.links.values()].flatMap((links) =>
          links.flatMap((link) =>
            link.records
              .filter((record) => record.namespace === namespace && record.callId === callId)
              .map(({ seq, hash, ...record }) => record),
          ),
        ),
    },
  }
}

function compareRows(a: ResourceRow, b: ResourceRow): number {
  return (
    compare(a.namespace, b.namespace) ||
    compare(a.kind, b.kind) ||
    compare(a.name, b.name) ||
    compare(a.version, b.version)
  )
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
