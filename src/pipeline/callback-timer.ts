// Whoever asked wants to hear of the end of a call that had to wait for people: a timer sees to it, whoever dies.
import type { Approval } from '../contract/approval.ts'
import type { TimerChange } from '../store/store.ts'

/** No target of notifications has such a name. */
export const CALLBACK_CHANNEL = '@callback'

export function callbackTimers({ id, callback }: Approval, inMs: number): readonly TimerChange[] {
  if (callback === undefined) return []
  return [{ kind: 'notify', subject: `${id}/0/${CALLBACK_CHANNEL}`, inMs, data: {} }]
}
