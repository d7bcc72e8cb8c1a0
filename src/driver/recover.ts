// What lives of the process that have ended left behind: taken over here, each entry and call by one process.
//
// A write that was intended and not settled may have been sent: it becomes unknown, and what its effect rule allows is
// left to a timer: to ask the tool, or to send it again where that is harmless. A read did nothing: it is closed, and
// its key is free. A call that was accepted is closed by what became of its entry (S36).
import type { CallRecord } from '../contract/call.ts'
import type { Entry, EntryOutcome } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure, isRepeatHarmless } from '../contract/projection.ts'
import { recordOfEntry, recordWith, withoutOutput } from '../pipeline/closed-record.ts'
import { canAttach } from '../pipeline/handle.ts'
import { reconcileTimer } from '../pipeline/reconcile-timer.ts'
import { resultOfEntry } from '../pipeline/result.ts'
import { memberSettled } from '../pipeline/saga-member.ts'
import type { CallResult } from '../pipeline/stages.ts'
import type { ResolvedOperation } from '../resource/resolved-tool.ts'
import type { TimerChange } from '../store/store.ts'
import type { DriverKit } from './timers.ts'

const PAGE = 500
/** How long a send of a build that is not here may still be on its way: nobody knows its timeout. */
const UNKNOWN_BUILD_QUIET_MS = 900_000

export interface Recovered {
  /** Writes of which nobody knows whether they were sent. Those that were not are false alarms (S36). */
  readonly unknown: number
  readonly closed: number
}

/** Takes over what can be taken over. What it could not close, because the store was away, it closes the next time. */
export function createRecovery(
  kit: DriverKit,
  /** Goes on with work that a tool has taken on; false where it cannot. */
  takeUp: (entry: Entry) => boolean = () => false,
): () => Promise<Recovered> {
  const entries = new Map<string, Entry>()
  const calls = new Map<string, CallRecord>()

  return async () => {
    const { store } = kit
    let unknown = 0
    let closed = 0
    for (;;) {
      // Asked for together: one write. A call is closed by what became of its entry, so entries come first.
      const [left, open] = await Promise.all([store.entries.adopt(PAGE), store.calls.adopt(PAGE)])
      for (const entry of left) entries.set(entry.id, entry)
      for (const call of open) calls.set(call.id, call)
      await each(entries, async (entry) => {
        if (takeUp(entry)) return
        await closeEntry(kit, entry)
        if (entry.readOnly) closed++
        else unknown++
      })
      // With entries that are still to come, the rest of the calls waits.
      if (left.length === PAGE) continue
      await each(calls, async (call) => {
        await closeCall(kit, call)
        closed++
      })
      if (open.length < PAGE) break
    }
    return { unknown, closed }
  }
}

/** All of them, whatever becomes of one; each is let go of when it is done. Throws the first failure at the end. */
async function each<T>(left: Map<string, T>, close: (one: T) => Promise<void>): Promise<void> {
  const results = await Promise.allSettled(
    [...left].map(async ([id, one]) => {
      await close(one)
      left.delete(id)
    }),
  )
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

async function closeEntry(kit: DriverKit, entry: Entry): Promise<void> {
  const committing = entry.state === 'committing'
  const to = committing ? 'commit-unknown' : entry.readOnly ? 'not-done' : 'unknown'
  const operation = operationOf(kit, entry)
  const harmless = operation !== undefined && !committing && isRepeatHarmless(operation.effect)
  const known = committing
    ? createFailure('commit-unknown', { message: 'the runtime stopped while it was being committed' })
    : interrupted(entry.readOnly || harmless)
  const timers = timersOf(kit, entry, operation, harmless)
  // What has a timer is looked into; where the build is not here, nobody can tell by whom.
  const failure: Failure = timers.length > 0 && operation !== undefined ? { ...known, asking: true } : known
  const at = kit.world.clock.now()
  const attempts = committing || entry.state === 'sent' ? entry.attempts : entry.attempts + cutOff(operation)
  // What was prepared, or taken on by the tool, can still be asked for.
  const kept = committing || entry.outcome?.handle !== undefined
  const before: EntryOutcome = kept && entry.outcome ? entry.outcome : { sideEffects: [], warnings: [] }
  const outcome: EntryOutcome = { ...before, failure }
  const left = { ...entry, state: to, attempts, outcome } as const
  const result = { ...asOpen(resultOfEntry(left)), replayed: false }
  const record = (await kit.ledger.call(entry.namespace, entry.callId)) ?? recordOfEntry(entry)
  await kit.ledger.move(entry, {
    path: [to],
    set: { attempts, outcome, settledAt: at },
    calls: [ended(kit, record, result, at)],
    facts: [
      {
        type: 'tool.interrupted',
        body: {
          entry_id: entry.id,
          actor: entry.caller.actor,
          tool: entry.tool,
          version: entry.version,
          operation: entry.operation,
          effect: result.effect,
        },
      },
    ],
    timers: [...timers, ...memberSettled(left, result)],
  })
}

function operationOf(kit: DriverKit, entry: Entry): ResolvedOperation | undefined {
  return kit.catalog.kept(entry.namespace, entry.tool, entry.digest)?.tool.operations[entry.operation]
}

/**
 * The intent was for at least one more send, and nobody knows how many left. A tool that fences does so by the number:
 * there every send that there may have been counts.
 */
function cutOff(operation: ResolvedOperation | undefined): number {
  return operation?.effect.statusQuery?.fencing === true ? operation.retry.maxAttempts : 1
}

/** S35: what a dead process sent may still be on its way for as long as its attempt was allowed to take. */
function timersOf(
  kit: DriverKit,
  entry: Entry,
  operation: ResolvedOperation | undefined,
  harmless: boolean,
): readonly TimerChange[] {
  const target = kit.catalog.kept(entry.namespace, entry.tool, entry.digest)
  if (entry.readOnly) return []
  // Its build may be here later, or in another process: that one knows what may be done.
  if (target === undefined || operation === undefined) {
    return [reconcileTimer(entry.id, UNKNOWN_BUILD_QUIET_MS, kit.world, { resend: true, inMs: 0 })]
  }
  const query = operation.effect.statusQuery
  if (query === undefined && !harmless && !canAttach(entry, target, kit)) return []
  const commit = target.tool.operations[operation.effect.twoPhase?.commit ?? '']
  const sent = entry.state === 'committing' ? (commit ?? operation) : operation
  return [
    reconcileTimer(entry.id, sent.timeoutMs + (query?.quietMs ?? 0), kit.world, {
      resend: harmless,
      inMs: 0,
    }),
  ]
}

/** Accepted and never ended. Where its entry is not on record, nothing was sent for it. */
async function closeCall(kit: DriverKit, call: CallRecord): Promise<void> {
  const { store, world } = kit
  const entry = call.entryId === undefined ? undefined : await store.entries.get(call.namespace, call.entryId)
  const nothing: CallResult = {
    state: 'failed',
    effect: 'none',
    failure: interrupted(true),
    attempt: 0,
    replayed: false,
    warnings: [],
    sideEffects: [],
  }
  const result = entry === undefined ? nothing : asOpen(resultOfEntry(entry))
  // It waits for an entry that another process is at work on: that one's end is found when somebody asks.
  if (result.state === 'running') return
  const at = world.clock.now()
  await store.ledger.settle({
    namespace: call.namespace,
    calls: [ended(kit, call, result, at)],
    evidence: [
      {
        namespace: call.namespace,
        callId: call.id,
        type: 'request.interrupted',
        at,
        body: { effect: result.effect, ...(entry === undefined ? {} : { entry_id: entry.id }) },
      },
    ],
  })
}

/** What can be sent again is sent again by itself, or by its caller: until then a call of it is open, not over. */
function asOpen(result: CallResult): CallResult {
  return result.effect === 'unknown' && result.state !== 'reconciling'
    ? { ...result, state: 'unknown' }
    : result
}

function interrupted(harmless: boolean): Failure {
  return createFailure('interrupted', { harmless, said: { retryable: true, counts: harmless } })
}

function ended(kit: DriverKit, call: CallRecord, result: CallResult, at: number): CallRecord {
  const record = withoutOutput(recordWith(call, result, at))
  return { ...record, epoch: kit.world.epoch }
}
