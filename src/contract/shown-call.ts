// A call as it is shown: the record, and what its entry says beside it.
import type { CallRecord } from './call.ts'
import type { Entry, EntryOutcome, EntryState } from './entry.ts'

/** An outcome never changes; what became of the effect since, settled or undone, is told by its entry alone. */
export interface EntryView {
  readonly state: EntryState
  readonly compensation?: NonNullable<EntryOutcome['compensation']>
}

export interface ShownCall extends CallRecord {
  readonly entry?: EntryView
}

export function viewOfEntry({ state, outcome }: Entry): EntryView {
  const compensation = outcome?.compensation
  return { state, ...(compensation === undefined ? {} : { compensation }) }
}
