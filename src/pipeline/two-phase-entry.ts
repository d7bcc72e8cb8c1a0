// What committing and rolling back share: the tool an entry is pinned to, its call as it is kept, and evidence (S26).
import type { CatalogTool } from '../catalog/catalog.ts'
import type { CallRecord } from '../contract/call.ts'
import type { TwoPhase } from '../contract/effect.ts'
import type { Entry, EntryOutcome, EntryState } from '../contract/entry.ts'
import type { EvidenceType } from '../contract/evidence.ts'
import type { Fact } from '../ledger/ledger.ts'
import type { TimerChange } from '../store/store.ts'
import type { JsonObject } from '../util/json.ts'
import { recordOfEntry, recordWith, withoutOutput } from './closed-record.ts'
import type { Kit } from './kit.ts'
import { resultOfEntry } from './result.ts'
import { memberSettled } from './saga-member.ts'

/** undefined where the build is no longer here: nothing can be sent in its name then. */
export function pinnedPhases(
  entry: Entry,
  kit: Kit,
): { readonly target: CatalogTool; readonly phases: TwoPhase } | undefined {
  const target = kit.catalog.kept(entry.namespace, entry.tool, entry.digest)
  const phases = target?.tool.operations[entry.operation]?.effect.twoPhase
  return target === undefined || phases === undefined ? undefined : { target, phases }
}

/** The call as it is once its entry is in `state`, and what a saga has to hear of that. */
export function told(
  entry: Entry,
  state: EntryState,
  outcome: EntryOutcome,
  /** The call as it was kept. Read before anything is sent: what came of a send must not wait for a read. */
  known: CallRecord | undefined,
  kit: Kit,
): { readonly calls: readonly CallRecord[]; readonly timers: readonly TimerChange[] } {
  const result = { ...resultOfEntry({ ...entry, state, outcome }), replayed: false }
  const at = kit.world.clock.now()
  return {
    calls: [withoutOutput(recordWith(known ?? recordOfEntry(entry), result, at))],
    timers: memberSettled(entry, result),
  }
}

/** Names and hashes; a token is never in it (S40). */
export function phaseFact(type: EvidenceType, entry: Entry, more: JsonObject = {}): Fact {
  return {
    type,
    body: {
      entry_id: entry.id,
      actor: entry.caller.actor,
      tool: entry.tool,
      version: entry.version,
      digest: entry.digest,
      operation: entry.operation,
      payload_hash: entry.payloadHash,
      ...more,
    },
  }
}

/** Prepared again, it still has to be committed in time. */
export function deadlineLeft(entry: Entry, kit: Kit): TimerChange {
  const now = kit.world.clock.now()
  const inMs = Math.max(0, (entry.outcome?.commitBy ?? now) - now)
  return { kind: 'commit-deadline', subject: entry.id, inMs }
}

export const NO_OUTCOME: EntryOutcome = { sideEffects: [], warnings: [] }
