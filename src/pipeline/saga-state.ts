// What the members of a saga leave open, and what they came to that their saga has to know (S29).
import { type Entry, type EntryState, isInQuestion } from '../contract/entry.ts'
import { stateOf } from '../contract/projection.ts'
import type { Saga } from '../contract/saga.ts'
import type { SagaChange } from '../ledger/saga-ledger.ts'
import type { TimerStore } from '../store/store.ts'

/**
 * Nothing is under way here and nothing is in question. One that could not be undone counts: its effect is known, and
 * whoever completes the saga takes it as it is.
 */
const KNOWN: ReadonlySet<EntryState> = new Set<EntryState>([
  'done',
  'committed',
  'not-done',
  'canceled',
  'rolled-back',
  'compensated',
  'compensation-failed',
])

const RUNNING: ReadonlySet<EntryState> = new Set<EntryState>(['reserved', 'intended', 'sent', 'committing'])

/** Members that stand in the way of a saga's end. Reads do nothing, so none of them does. */
export function openMembers(members: readonly Entry[]): readonly Entry[] {
  return members.filter((entry) => !entry.readOnly && !KNOWN.has(entry.state))
}

export function isMemberInQuestion(entry: Entry): boolean {
  return !entry.readOnly && isInQuestion(entry)
}

/** What a member makes of its saga. */
export interface News {
  readonly state: 'aborting' | 'blocked'
  readonly reason: string
}

export function newsOf(entry: Entry): News | 'nothing' | 'later' {
  if (RUNNING.has(entry.state)) return 'later'
  if (isInQuestion(entry)) return { state: 'blocked', reason: unknownReason(entry) }
  const { failure } = entry.outcome ?? {}
  const without = entry.state === 'not-done' || entry.state === 'rolled-back'
  if (!without || failure === undefined) return 'nothing'
  const outcome = stateOf(failure, 'not-done')
  if (failure.retryable || outcome === 'denied') {
    const how = failure.retryable ? 'failed and may be tried again' : 'was denied'
    return { state: 'blocked', reason: `call ${entry.callId} ${how} (${failure.id})` }
  }
  return { state: 'aborting', reason: `call ${entry.callId} failed (${failure.id})` }
}

export interface Untold {
  readonly entry: Entry
  readonly news: News
}

/** Members whose end their saga has not heard of yet: the timer that tells it goes with the write that heeds it. */
export async function untoldNews(
  members: readonly Entry[],
  timers: Pick<TimerStore, 'get'>,
): Promise<readonly Untold[]> {
  const untold: Untold[] = []
  for (const entry of members) {
    const news = entry.readOnly ? 'nothing' : newsOf(entry)
    if (typeof news === 'string') continue
    if ((await timers.get(entry.namespace, 'saga', entry.id)) !== undefined) untold.push({ entry, news })
  }
  return untold
}

/** The change that heeds the news of which this timer tells. */
export function heed(saga: Saga, timer: string, news: News): SagaChange {
  const told = { kind: 'saga', subject: timer } as const
  const undoing = { kind: 'saga', subject: saga.id, inMs: 0, data: {} } as const
  return { ...news, timers: news.state === 'aborting' ? [told, undoing] : [told] }
}

/** While its end is looked into, no call can join. */
export const BEING_COMPLETED = 'it is being completed'

const UNKNOWN = (callId: string) => `whether call ${callId} had its effect is not known`

export function unknownReason({ callId, state }: Entry): string {
  return `${UNKNOWN(callId)} (${state})`
}

/** Calls could join until nobody knew what became of this one. An abort that met it gives another reason. */
export function wasStoppedBy(saga: Saga, { callId }: Entry): boolean {
  return saga.state === 'blocked' && saga.reason.startsWith(UNKNOWN(callId))
}
