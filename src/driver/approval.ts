// A call waits for people. Its timer is due when they have agreed, and then it goes on here; or when their time is over.
import type { Answer } from '../contract/answer.ts'
import type { Approval } from '../contract/approval.ts'
import type { Entry } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure } from '../contract/projection.ts'
import { callbackTimers } from '../pipeline/callback-timer.ts'
import { endWaiting, wakeUndo } from '../pipeline/end-waiting.ts'
import { approvalOf } from '../pipeline/recall.ts'
import type { DueTimer } from '../store/store.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import type { JsonObject } from '../util/json.ts'
import type { DriverKit, TimerEnd, TimerHandler } from './timers.ts'

/** A call that takes longer than this no longer holds a place among the timers in hand: it is looked at again. */
const HOLD_MS = 5_000
const LOOK_AGAIN_MS = 15_000
/** How soon something that only stood in the way for now is tried again, at first and at most. */
const FIRST_RETRY_MS = 500
const LONGEST_RETRY_MS = 30_000
/** A build that this process has not: another one may have it. */
const NOT_OURS_MS = 2_000

export function createApprovalHandler(): TimerHandler {
  /** Entries that go on in this process at this moment. */
  const running = new Map<string, Promise<Answer>>()

  return async (timer, kit) => {
    const entry = await kit.store.entries.get(timer.namespace, timer.subject)
    if (entry?.state !== 'awaiting-approval') return { kind: 'done' }
    const approval = await approvalOf(entry, kit)
    // Only its time, or a decision, makes the timer due: nobody has decided.
    if (approval?.state !== 'approved' || approval.expiresAt <= kit.steadyNow()) {
      return expire(entry, approval, kit)
    }
    if (!kit.ledger.maySend || kit.stopping.aborted) return again(timer, approval, FIRST_RETRY_MS, kit)
    if (!(await hasBuild(entry, kit))) return again(timer, approval, NOT_OURS_MS, kit)
    const answer = await goOn(entry, approval, running, kit)
    if (answer === undefined) return { kind: 'again', inMs: LOOK_AGAIN_MS }
    return after(timer, entry, answer, kit)
  }
}

/** Undefined when it takes long. */
async function goOn(
  entry: Entry,
  approval: Approval,
  running: Map<string, Promise<Answer>>,
  kit: DriverKit,
): Promise<Answer | undefined> {
  const run =
    running.get(entry.id) ??
    kit.resume({ ...entry, caller: approval.caller ?? entry.caller }).finally(() => {
      running.delete(entry.id)
      wake(entry, approval, kit)
    })
  running.set(entry.id, run)
  return new Promise((resolve, reject) => {
    const timer = kit.world.after(HOLD_MS, () => resolve(undefined))
    run.then(resolve, reject).finally(() => timer.cancel())
  })
}

/** Whoever undoes an effect by this call, or wants to be called back, hears that it is over. */
function wake(entry: Entry, approval: Approval, kit: DriverKit): void {
  const timers = [...wakeUndo(entry), ...callbackTimers(approval, 0)]
  if (timers.length === 0) return
  kit.store.ledger.settle({ namespace: entry.namespace, timers }).catch(onlyUnavailable)
}

/** False where another process may have it. One that was replaced here is gone for everybody. */
async function hasBuild({ namespace, tool, digest }: Entry, kit: DriverKit): Promise<boolean> {
  const known = () =>
    kit.catalog.pinned(namespace, tool, digest) !== undefined ||
    kit.catalog.list(namespace).some(({ name }) => name === tool)
  return known() || ((await kit.refresh?.()) === true && known())
}

/** The run is over. Where it came to no intent, the entry still waits, and what stood in the way decides what follows. */
async function after(timer: DueTimer, entry: Entry, answer: Answer, kit: DriverKit): Promise<TimerEnd> {
  const now = await kit.store.entries.get(entry.namespace, entry.id)
  if (now?.state !== 'awaiting-approval' || now.approvalId !== entry.approvalId) return { kind: 'done' }
  const approval = await approvalOf(now, kit)
  if (approval?.state !== 'approved') return { kind: 'again', inMs: 0 }
  const { failure, final } = answer
  const passes = !final || failure === undefined || failure.retryable
  if (passes) return again(timer, approval, retryMs(timer.data), kit)
  return settled(await endWaiting(now, approval, { state: 'stale', failure, body: why(failure) }, kit))
}

/** Authorization is computed again when it goes on: who may no longer is told so, and not that an approval is stale. */
function why({ id, details: { policy_ref: ref } }: Failure): JsonObject {
  return { failure: id, ...(ref === undefined ? {} : { policy_ref: ref }) }
}

async function expire(entry: Entry, approval: Approval | undefined, kit: DriverKit): Promise<TimerEnd> {
  const failure = createFailure('approval-expired', {
    details: entry.approvalId === undefined ? {} : { approval_id: entry.approvalId },
  })
  const open = approval?.state === 'pending' || approval?.state === 'approved' ? approval : undefined
  return settled(await endWaiting(entry, open, { state: 'expired', failure }, kit))
}

/** Never past the time of the approval: then it is over. */
function again(timer: DueTimer, { expiresAt }: Approval, inMs: number, kit: DriverKit): TimerEnd {
  const left = Math.max(0, expiresAt - kit.steadyNow())
  const tries = Number(timer.data.tries ?? 0) + 1
  return { kind: 'again', inMs: Math.min(inMs, left), data: { ...timer.data, tries } }
}

function retryMs(data: JsonObject): number {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(Number(data.tries ?? 0), 10))
}

/** Where it changed meanwhile, the next look sees what there is to do. */
function settled(moved: { readonly kind: 'moved' | 'conflict' }): TimerEnd {
  return moved.kind === 'moved' ? { kind: 'written' } : { kind: 'again', inMs: 0 }
}
