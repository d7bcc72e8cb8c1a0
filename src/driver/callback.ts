// Tells whoever asked that the call which had waited for people has ended: signed, at least once, for a day at most.
import { isOutcome } from '../contract/answer.ts'
import type { Approval } from '../contract/approval.ts'
import type { CallRecord } from '../contract/call.ts'
import { createEgress } from '../egress/egress.ts'
import type { OwnReach } from '../egress/own-reach.ts'
import { type Delivery, post } from '../notify/delivery.ts'
import { readNotifySubject } from '../notify/notify-timers.ts'
import { webhookHeaders } from '../notify/webhook.ts'
import { CALLBACK_CHANNEL } from '../pipeline/callback-timer.ts'
import type { DueTimer } from '../store/store.ts'
import type { World } from '../util/world.ts'
import { recordDelivery, retryMs } from './record-delivery.ts'
import type { DriverKit, TimerEnd, TimerHandler } from './timers.ts'

export interface CallbackOptions {
  /** Origins: nothing is sent anywhere else. */
  readonly allow: readonly string[]
  /** Signs each body. */
  readonly secret: string
}

/** The end is told at once by whoever brings it about; this is for when that process died over it. */
const LOOK_MS = 30_000
const GIVE_UP_MS = 86_400_000

/** Everything that is no callback goes to `others`. Without options nobody is called back. */
export function createCallbackHandler(
  others: TimerHandler,
  world: World,
  reach: OwnReach,
  options: CallbackOptions | undefined,
): TimerHandler {
  // What was allowed when a call asked for it may no longer be when it has ended.
  const allow = ({ origin }: URL) =>
    options?.allow.includes(origin) ? undefined : 'is not among the origins that are called back'
  const egress = createEgress({ world, allow, reach })
  return async (timer, kit) => {
    const about = readNotifySubject(timer.subject)
    if (about?.channel !== CALLBACK_CHANNEL) return others(timer, kit)
    const approval = await kit.store.approvals.get(timer.namespace, about.approvalId)
    const url = approval?.callback?.url
    if (approval === undefined || typeof url !== 'string') return { kind: 'done' }
    const call = await kit.ledger.call(timer.namespace, approval.callId)
    if (call === undefined) return { kind: 'done' }
    if (!isOutcome(call.state) || options === undefined) return { kind: 'again', inMs: LOOK_MS }
    const now = () => kit.world.clock.now()
    const body = bodyOf(call, approval)
    const headers = webhookHeaders(eventId(approval), body, options.secret, now())
    return ended(timer, approval, await post(egress, now, { url, body, headers }), kit)
  }
}

function eventId({ id }: Approval): string {
  return `${id}.callback`
}

/** Not what came out of it: that is read at the call, by whoever may. */
function bodyOf(call: CallRecord, approval: Approval): string {
  const { failure } = call.answer ?? {}
  return JSON.stringify({
    id: eventId(approval),
    type: 'call.ended',
    at: new Date(call.endedAt ?? approval.endedAt ?? approval.createdAt).toISOString(),
    namespace: call.namespace,
    call: {
      id: call.id,
      request_id: call.requestId,
      tool: call.tool,
      operation: call.operation,
      state: call.state,
      effect: call.effect,
      ...(failure === undefined ? {} : { failure: failure.id, message: failure.message }),
    },
    approval: { id: approval.id, state: approval.state },
  })
}

async function ended(
  timer: DueTimer,
  approval: Approval,
  delivery: Delivery,
  kit: DriverKit,
): Promise<TimerEnd> {
  const { dueAt, data } = timer
  const tries = Number(data.tries ?? 0) + 1
  const since = Number(data.since ?? dueAt)
  const over = dueAt - since >= GIVE_UP_MS
  if (delivery.kind === 'later' && !over) {
    const inMs = Math.max(retryMs(tries, kit), delivery.afterMs ?? 0)
    return { kind: 'again', inMs, data: { tries, since } }
  }
  const delivered = delivery.kind === 'delivered'
  const said = delivered ? { detail: delivery.detail } : { why: delivery.why }
  const body = { approval_id: approval.id, event_id: eventId(approval), event: 'call.ended', tries, ...said }
  return recordDelivery(timer, approval, delivered, { ...body, channel: CALLBACK_CHANNEL }, kit)
}
