// A saga moves on (S29): it hears what a member came to, is undone from its last member to its first, or is completed.
//
// Everything is decided from what is on disk, and each step is one write with its timer. A process that dies between two
// of them leaves a saga and a timer from which another goes on; a member that was undone is not undone again.
import type { Entry } from '../contract/entry.ts'
import type { Saga } from '../contract/saga.ts'
import { createSagaLedger } from '../ledger/saga-ledger.ts'
import { cancelSuspended } from '../pipeline/cancel-suspended.ts'
import { compensate, type UndoKit } from '../pipeline/compensate.ts'
import {
  BEING_COMPLETED,
  heed,
  isMemberInQuestion,
  type News,
  newsOf,
  openMembers,
  unknownReason,
  untoldNews,
  wasStoppedBy,
} from '../pipeline/saga-state.ts'
import { rollbackEntry } from '../pipeline/two-phase.ts'
import type { DueTimer } from '../store/store.ts'
import type { TimerEnd } from './timers.ts'

const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 15_000
/** How often a build that is not here is looked for before a person is asked: about an hour. */
const BUILD_LOOKS = 3_600_000 / LONGEST_WAIT_MS

export async function driveSaga(timer: DueTimer, kit: UndoKit): Promise<TimerEnd> {
  const { namespace, subject, data } = timer
  const about = typeof data.saga === 'string' ? data.saga : undefined
  const saga = await kit.store.sagas.get(namespace, about ?? subject)
  if (about !== undefined) return saga === undefined ? { kind: 'done' } : hear(saga, timer, kit)
  if (saga?.state === 'aborting') return abort(saga, timer, kit)
  if (saga?.state === 'blocked' && data.completing === true) return complete(saga, kit)
  // The write that moved it on has dropped the timer, too; one that was set since is not this one.
  return { kind: 'written' }
}

/** A member came to an end that its saga has to hear of. */
async function hear(saga: Saga, timer: DueTimer, kit: UndoKit): Promise<TimerEnd> {
  if (saga.state !== 'open' && saga.state !== 'blocked') return { kind: 'done' }
  if (typeof timer.data.denied === 'string') return hearDenied(saga, timer, timer.data.denied, kit)
  const entry = await kit.store.entries.get(timer.namespace, timer.subject)
  if (entry === undefined) return { kind: 'done' }
  const news = newsOf(entry)
  if (news === 'later') return again(timer)
  if (saga.state === 'blocked') return hearStopped(saga, timer, entry, kit)
  return news === 'nothing' ? { kind: 'done' } : tell(saga, timer, news, kit)
}

async function tell(saga: Saga, timer: DueTimer, news: News, kit: UndoKit): Promise<TimerEnd> {
  const changed = await createSagaLedger(kit.world, kit.store).change(saga, heed(saga, timer.subject, news))
  return changed === undefined ? again(timer) : { kind: 'written' }
}

async function hearDenied(saga: Saga, timer: DueTimer, why: string, kit: UndoKit): Promise<TimerEnd> {
  const { actor, call_id } = timer.data
  // Only its own caller's calls are its members; another one must not be able to stop it.
  if (actor !== saga.caller.actor) return { kind: 'done' }
  // It has no entry, so that there is nothing to decide about it once the saga has been stopped.
  if (saga.state === 'blocked') return saga.reason === BEING_COMPLETED ? again(timer) : { kind: 'done' }
  return tell(saga, timer, { state: 'blocked', reason: `call ${String(call_id)} was denied (${why})` }, kit)
}

/**
 * It has been stopped, and somebody is asked: whoever decides looks at all members again. Only when what it was stopped
 * for is known to be done after all, and nothing else came up, there is nothing to decide.
 */
async function hearStopped(saga: Saga, timer: DueTimer, entry: Entry, kit: UndoKit): Promise<TimerEnd> {
  if (saga.reason === BEING_COMPLETED) return again(timer)
  // Who settled it by hand is at it, and says how the saga goes on.
  if (!isDone(entry) || entry.outcome?.settledBy === 'person') return { kind: 'done' }
  const sagas = createSagaLedger(kit.world, kit.store)
  const members = (await sagas.members(saga)).filter(({ readOnly }) => !readOnly)
  const stopper = members.find((member) => wasStoppedBy(saga, member))
  const isClear = stopper !== undefined && isDone(stopper) && stopper.outcome?.settledBy !== 'person'
  // Each of the others that is in question, or sent again, tells of its own end.
  if (!isClear || members.some(isUnsettled)) return { kind: 'done' }
  const timers = [{ kind: 'saga', subject: timer.subject } as const]
  const opened = await sagas.change(saga, { state: 'open', reason: '', timers })
  return opened === undefined ? again(timer) : { kind: 'written' }
}

function isDone({ state }: Entry): boolean {
  return state === 'done' || state === 'committed'
}

function isUnsettled(member: Entry): boolean {
  const news = newsOf(member)
  return news === 'later' ? member.attempts > 0 : news !== 'nothing'
}

/** From the last member to the first; an earlier one only when nothing is left of the later ones. */
async function abort(saga: Saga, timer: DueTimer, kit: UndoKit): Promise<TimerEnd> {
  const sagas = createSagaLedger(kit.world, kit.store)
  const timers = [{ kind: 'saga', subject: saga.id } as const]
  for (const member of await sagas.members(saga)) {
    const step = await undo(member, saga, kit)
    if (step.kind === 'next') continue
    if (step.kind === 'wait') return again(timer)
    if (step.kind === 'lacking') {
      const lacking = typeof timer.data.lacking === 'number' ? timer.data.lacking + 1 : 1
      if (lacking < BUILD_LOOKS) return again({ ...timer, data: { ...timer.data, lacking } })
    }
    const blocked = await sagas.change(saga, { state: 'blocked', reason: step.reason, timers })
    return blocked === undefined ? again(timer) : { kind: 'written' }
  }
  const aborted = await sagas.change(saga, { state: 'aborted', timers })
  return aborted === undefined ? again(timer) : { kind: 'written' }
}

type Step =
  | { readonly kind: 'next' }
  | { readonly kind: 'wait' }
  /** The build that says how is not here; another process may have it. */
  | { readonly kind: 'lacking'; readonly reason: string }
  /** A person has to decide. */
  | { readonly kind: 'stuck'; readonly reason: string }

async function undo(entry: Entry, saga: Saga, kit: UndoKit): Promise<Step> {
  if (entry.readOnly) return { kind: 'next' }
  if (isMemberInQuestion(entry)) {
    return { kind: 'stuck', reason: `it is to be undone, and ${unknownReason(entry)}` }
  }
  switch (entry.state) {
    case 'not-done':
    case 'canceled':
    case 'rolled-back':
    case 'compensated':
      return { kind: 'next' }
    case 'awaiting-approval': {
      const record = await kit.ledger.call(entry.namespace, entry.callId)
      const canceled = record !== undefined && (await cancelSuspended(record, kit.store, kit))
      return { kind: canceled ? 'next' : 'wait' }
    }
    case 'prepared':
      await rollbackEntry(entry, saga.caller, kit)
      return { kind: 'wait' }
    case 'done':
    case 'committed': {
      const undone = await compensate(entry, saga.caller, kit)
      if (undone.kind === 'compensated') return { kind: 'next' }
      if (undone.kind === 'open') return { kind: 'wait' }
      return { kind: undone.kind === 'absent' ? 'lacking' : 'stuck', reason: undone.failure.message }
    }
    case 'compensation-failed': {
      const why = entry.outcome?.compensation?.failure?.message
      return { kind: 'stuck', reason: why ?? `call ${entry.callId} could not be undone` }
    }
    default:
      return { kind: 'wait' }
  }
}

/** No call can join any more: if none is open, that is final; else it goes on as if nobody had asked. */
async function complete(saga: Saga, kit: UndoKit): Promise<TimerEnd> {
  const sagas = createSagaLedger(kit.world, kit.store)
  const members = await sagas.members(saga)
  const isOver =
    openMembers(members).length === 0 && (await untoldNews(members, kit.store.timers)).length === 0
  const timers = [{ kind: 'saga', subject: saga.id } as const]
  await sagas.change(saga, { state: isOver ? 'completed' : 'open', reason: '', timers })
  // Where it changed meanwhile, whoever changed it has dropped the timer.
  return { kind: 'written' }
}

/** Twice as long each time. */
function again({ data }: DueTimer): TimerEnd {
  const looks = typeof data.looks === 'number' ? data.looks : 0
  const inMs = Math.min(FIRST_WAIT_MS * 2 ** looks, LONGEST_WAIT_MS)
  return { kind: 'again', inMs, data: { ...data, looks: looks + 1 } }
}
