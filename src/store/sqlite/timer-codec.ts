// A timer as it is kept.
import type { DueTimer, TimerKind } from '../store.ts'
import type { Row } from './row.ts'

export const TIMER_COLUMNS = 'namespace, kind, subject, due_at, data'

/** Of a timer: nobody has it in hand, or a life that has ended. */
export const FREE_TIMER =
  '(claimed_by is null or claimed_by not in (select epoch from epoch where ended = 0))'

/** `row` has TIMER_COLUMNS. */
export function decodeTimer(row: Row): DueTimer {
  return {
    namespace: row[0] as string,
    kind: row[1] as TimerKind,
    subject: row[2] as string,
    dueAt: row[3] as number,
    data: JSON.parse(row[4] as string),
  }
}
