// News of approvals go out: in order for each approval and channel, at least once, and for a day at most.
//
// The timer is the outbox: it was written with the approval, and is dropped with the record of what came of it.

import type { Notifier } from '../notify/notifier.ts'
import { newsOf, notifySubject, readNotifySubject } from '../notify/notify-timers.ts'
import type { DueTimer } from '../store/store.ts'
import type { JsonObject } from '../util/json.ts'
import { recordDelivery, retryMs } from './record-delivery.ts'
import type { DriverKit, TimerHandler } from './timers.ts'

const DAY_MS = 86_400_000
/** How often those that wait for an earlier one look whether it is gone, at least and at most. */
const SOONEST_LOOK_MS = 100
const LATEST_LOOK_MS = 30_000
/** A channel that this process has not: another replica may be started with it. */
const UNKNOWN_CHANNEL_MS = 30_000

export interface NotifyOptions {
  /** After how long news are given up. @default a day */
  readonly giveUpMs?: number
}

export function createNotifyHandler(notifier: Notifier, options: NotifyOptions = {}): TimerHandler {
  const { giveUpMs = DAY_MS } = options

  return async (timer, kit) => {
    const { namespace, subject, data, dueAt } = timer
    const about = readNotifySubject(subject)
    if (about === undefined) return { kind: 'done' }
    const { approvalId, seq, channel } = about
    const waitMs = await behindMs(timer, kit)
    if (waitMs !== undefined) return { kind: 'again', inMs: waitMs }
    const approval = await kit.store.approvals.get(namespace, approvalId)
    // Forgotten after its time: there is nobody left who could want to know.
    if (approval === undefined) return { kind: 'done' }
    const news = newsOf(timer, seq, approval)
    const delivery = (await notifier.deliver(channel, news)) ?? {
      kind: 'later' as const,
      why: 'this server has no such target',
      afterMs: UNKNOWN_CHANNEL_MS,
    }
    const tries = Number(data.tries ?? 0) + 1
    // By the clock of the store, like everything about timers.
    const since = Number(data.since ?? dueAt)
    const over = delivery.kind === 'later' && dueAt - since >= giveUpMs
    if (delivery.kind === 'later' && !over) {
      const inMs = Math.max(retryMs(tries, kit), delivery.afterMs ?? 0)
      report(kit, timer, approvalId, channel, delivery.why, inMs)
      return { kind: 'again', inMs, data: { ...data, tries, since } }
    }
    const delivered = delivery.kind === 'delivered'
    const why = delivered ? delivery.detail : delivery.why
    if (!delivered) report(kit, timer, approvalId, channel, why, null)
    const body: JsonObject = {
      approval_id: approvalId,
      event_id: news.id,
      event: news.type,
      channel,
      tries,
      [delivered ? 'detail' : 'why']: over ? `given up: ${why}` : why,
    }
    return recordDelivery(timer, approval, delivered, body, kit)
  }
}

/** How long to wait where earlier news of the approval are not through yet; undefined where none are. */
async function behindMs(timer: DueTimer, { store, world }: DriverKit): Promise<number | undefined> {
  const about = readNotifySubject(timer.subject)
  if (about === undefined) return undefined
  for (let seq = about.seq - 1; seq > 0; seq--) {
    const subject = notifySubject(about.approvalId, seq, about.channel)
    const before = await store.timers.get(timer.namespace, 'notify', subject)
    if (before === undefined) continue
    const dueIn = before.dueAt - world.clock.now()
    return Math.min(LATEST_LOOK_MS, Math.max(SOONEST_LOOK_MS, dueIn))
  }
  return undefined
}

function report(
  { events }: DriverKit,
  { namespace, data }: DueTimer,
  approvalId: string,
  channel: string,
  why: string,
  retryInMs: number | null,
): void {
  events.emit('notify:failed', {
    namespace,
    approval_id: approvalId,
    event: String(data.type),
    channel,
    why,
    retry_in_ms: retryInMs === null ? null : Math.round(retryInMs),
  })
}
