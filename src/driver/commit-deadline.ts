// Prepared and not committed in time: rolled back (S26).
import { beginRollback } from '../pipeline/two-phase-rollback.ts'
import type { DueTimer } from '../store/store.ts'
import type { DriverKit, TimerEnd } from './timers.ts'

export async function expireCommit(timer: DueTimer, kit: DriverKit): Promise<TimerEnd> {
  const entry = await kit.store.entries.get(timer.namespace, timer.subject)
  if (entry === undefined) return { kind: 'done' }
  // Whoever moved it on has dropped this timer in the same write; one that was set since is not this one.
  if (entry.state !== 'prepared') return { kind: 'written' }
  const begun = await beginRollback(entry, 'commit-expired', 0, kit)
  if (begun.kind === 'moved') return { kind: 'written' }
  // A commit was faster, and may even have been refused by now: look again.
  return expireCommit(timer, kit)
}
