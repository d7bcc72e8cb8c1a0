// Whether a call is one of those that a filter asks for. What a database does with an index, over records in memory.
import type { CallRecord } from '../contract/call.ts'
import type { CallFilter } from './store.ts'

export function matchesFilter(record: CallRecord, filter: CallFilter): boolean {
  return (
    record.namespace === filter.namespace &&
    (filter.actor === undefined || record.actor === filter.actor) &&
    (filter.tool === undefined || record.tool === filter.tool) &&
    (filter.state === undefined || record.state === filter.state) &&
    (filter.requestId === undefined || record.requestId === filter.requestId) &&
    (filter.before === undefined || record.id < filter.before)
  )
}
