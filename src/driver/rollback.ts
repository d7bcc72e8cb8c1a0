// A rollback that the tool has not acknowledged yet: told again, later and later, until it is (S26).
import { pushRollback, rollbackTimer } from '../pipeline/two-phase-rollback.ts'
import type { DueTimer } from '../store/store.ts'
import type { DriverKit, TimerEnd } from './timers.ts'

export async function driveRollback(timer: DueTimer, kit: DriverKit): Promise<TimerEnd> {
  const entry = await kit.store.entries.get(timer.namespace, timer.subject)
  // Once rolled back it stays so: no other timer of this kind can have been set for it.
  if (entry === undefined || entry.state !== 'rolling-back') return { kind: 'done' }
  if (await pushRollback(entry, kit)) return { kind: 'written' }
  const { tries } = timer.data
  const { inMs, data } = rollbackTimer(entry.id, (typeof tries === 'number' ? tries : 0) + 1)
  return { kind: 'again', inMs, ...(data === undefined ? {} : { data }) }
}
