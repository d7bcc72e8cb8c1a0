// An effect is being undone, and whoever was at it may be gone: looks what became of it, and goes on (S29).
import { goOnUndoing, type UndoKit } from '../pipeline/compensate.ts'
import { FIRST_RUN, type UndoBy } from '../pipeline/undo-try.ts'
import type { DueTimer } from '../store/store.ts'
import type { TimerEnd } from './timers.ts'

export async function driveCompensation(timer: DueTimer, kit: UndoKit): Promise<TimerEnd> {
  const entry = await kit.store.entries.get(timer.namespace, timer.subject)
  if (entry === undefined) return { kind: 'done' }
  if (entry.state !== 'compensating') {
    // Dropped only if nothing has begun since: another try has set this timer for itself.
    await kit.ledger.move(entry, { path: [], timers: [{ kind: 'compensation', subject: entry.id }] })
    return { kind: 'written' }
  }
  const by: UndoBy = { ...FIRST_RUN, ...(timer.data as Partial<UndoBy>) }
  const undone = await goOnUndoing(entry, by, kit)
  if (undone.kind !== 'open') return { kind: 'written' }
  return { kind: 'again', inMs: undone.inMs, data: { ...undone.by } }
}
