// What becomes of a try to tell somebody something: a pause before the next one, or evidence of how it ended.
import type { Approval } from '../contract/approval.ts'
import type { DueTimer } from '../store/store.ts'
import type { JsonObject } from '../util/json.ts'
import type { DriverKit, TimerEnd } from './timers.ts'

const FIRST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 900_000

/** Twice as long each time, half of it by chance: what failed together does not come back together. */
export function retryMs(tries: number, { world }: Pick<DriverKit, 'world'>): number {
  const longest = Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(tries - 1, 20))
  return longest / 2 + (longest / 2) * world.random()
}

/** The timer is dropped with the record of what came of it, so that neither is there without the other. */
export async function recordDelivery(
  { namespace, subject, dueAt }: DueTimer,
  { callId }: Approval,
  delivered: boolean,
  body: JsonObject,
  { store, world }: DriverKit,
): Promise<TimerEnd> {
  const type = delivered ? 'notification.delivered' : 'notification.failed'
  await store.ledger.settle({
    namespace,
    evidence: [{ namespace, callId, type, at: world.clock.now(), body }],
    timers: [{ kind: 'notify', subject, ifDueAt: dueAt }],
  })
  return { kind: 'written' }
}
