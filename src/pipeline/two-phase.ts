// The second phase of a two-phase call (S26): a prepared effect is committed once, or given up.
//
// `prepared > committing` is on disk before the commit is sent, and only one of those who ask gets that far. What comes
// back decides where it goes: a success to `committed`, a definite refusal back to `prepared`, and everything else to
// `commit-unknown`, from where only an answer of the tool or a person leads on. It is never sent again blindly.
import type { CatalogTool } from '../catalog/catalog.ts'
import type { CallRecord } from '../contract/call.ts'
import type { Caller } from '../contract/caller.ts'
import type { TwoPhase } from '../contract/effect.ts'
import type { Entry, EntryOutcome } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure } from '../contract/projection.ts'
import { guardsOf, stopKindOf } from '../contract/stop.ts'
import { serialize } from '../ledger/fingerprint.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import type { Reply, Success } from '../transport/transport.ts'
import { sha256Hex } from '../util/canonical.ts'
import { errorPlace } from '../util/error-place.ts'
import type { AttemptOutcome } from './attempt.ts'
import { runErrand } from './errand.ts'
import type { Kit } from './kit.ts'
import { stopFacts } from './permit.ts'
import { reconcileTimer } from './reconcile-timer.ts'
import { settleUnknown } from './settle-unknown.ts'
import { commitRefusal } from './two-phase-check.ts'
import { deadlineLeft, NO_OUTCOME, phaseFact, pinnedPhases, told } from './two-phase-entry.ts'

export { rollbackEntry } from './two-phase-rollback.ts'

/** undefined when it is committed. */
export async function commitEntry(
  entry: Entry,
  caller: Caller,
  token: string,
  kit: Kit,
): Promise<Failure | undefined> {
  const refusal = await commitRefusal(entry, caller, token, kit)
  if (refusal !== undefined) return refusal
  const pinned = pinnedPhases(entry, kit)
  if (pinned === undefined) throw new Error(`entry ${entry.id} was checked and has no build`)
  if (!kit.ledger.maySend) {
    return createFailure('intent-not-recorded')
  }
  let begun: Awaited<ReturnType<Kit['ledger']['move']>>
  let known: CallRecord | undefined
  try {
    known = await kit.ledger.call(entry.namespace, entry.callId)
    begun = await kit.ledger.move(entry, {
      path: ['committing'],
      // Whoever finds it after this process has ended must know whose it was.
      set: { epoch: kit.world.epoch },
      facts: [phaseFact('commit.started', entry)],
      timers: [{ kind: 'commit-deadline', subject: entry.id }],
      unless: guardsOf(caller, entry.tool, entry.request?.agent),
    })
  } catch (error) {
    onlyUnavailable(error)
    return createFailure('intent-not-recorded')
  }
  if (begun.kind === 'moved') return send(begun.entry, known, pinned.target, pinned.phases, kit)
  if (begun.on === 'stopped') return stoppedCommit(caller, entry, begun.stop ?? '', kit)
  // Somebody was faster: what it made of the entry says why this one may not.
  const now = begun.entry ?? (await kit.ledger.find(entry.scope, entry.key))
  if (now === undefined || now.revision === entry.revision)
    throw new Error(`entry ${entry.id} is gone, or refuses a change of its own revision`)
  return commitEntry(now, caller, token, kit)
}

/** Stopped a moment ago: this process may not know of it yet. What is prepared stays so. */
function stoppedCommit(caller: Caller, entry: Entry, name: string, kit: Kit): Failure {
  const known = kit.authority.stopped(caller, entry.tool, entry.request?.agent)
  const seen = { kind: stopKindOf(name), name, reason: 'stopped by an operator', at: kit.world.clock.now() }
  return createFailure(...stopFacts(known ?? seen))
}

async function send(
  entry: Entry,
  known: CallRecord | undefined,
  target: CatalogTool,
  phases: TwoPhase,
  kit: Kit,
): Promise<Failure | undefined> {
  const { toolToken } = entry.outcome ?? NO_OUTCOME
  const startedAt = kit.world.clock.monotonic()
  const outcome = await runErrand(
    {
      entry,
      target,
      operation: phases.commit,
      ...(toolToken === undefined ? {} : { toolToken }),
      onLate: (reply) => void settleLate(entry, reply, target, phases, kit),
    },
    kit,
  ).catch((bug: unknown): AttemptOutcome => {
    // It may have been sent before the transport broke: in question, and not for ever under way.
    kit.events.emit('call:faulted', { call_id: entry.callId, error: errorPlace(bug) })
    return { sent: true, reply: undefined, aborted: undefined }
  })
  try {
    return await settle(entry, known, outcome, startedAt, target, phases, kit)
  } catch (error) {
    onlyUnavailable(error)
    // The next life of the process finds it committing, and asks the tool or a person.
    const row = outcome.sent ? 'outcome-not-recorded' : 'intent-not-recorded'
    return createFailure(row, { harmless: !outcome.sent })
  }
}

async function settle(
  entry: Entry,
  known: CallRecord | undefined,
  outcome: AttemptOutcome,
  startedAt: number,
  target: CatalogTool,
  phases: TwoPhase,
  kit: Kit,
): Promise<Failure | undefined> {
  const { reply } = outcome
  if (reply?.kind === 'success' && isAsPromised(reply, target, phases))
    return committed(entry, known, reply, target, phases, kit)
  if (!outcome.sent || (reply?.kind === 'failure' && reply.definite)) return refused(entry, outcome, kit)
  const lasted = kit.world.clock.monotonic() - startedAt
  return unknown(entry, known, outcome, lasted, target, phases, kit)
}

/** S23: a success that breaks its schema is no definite answer. */
function isAsPromised(reply: Success, target: CatalogTool, phases: TwoPhase): boolean {
  if (reply.bytes > target.tool.limits.outputBytes) return false
  return (target.outputs.get(phases.commit)?.check(reply.output) ?? []).length === 0
}

async function committed(
  entry: Entry,
  known: CallRecord | undefined,
  reply: Success,
  target: CatalogTool,
  phases: TwoPhase,
  kit: Kit,
): Promise<Failure | undefined> {
  const { toolToken: _, ...before } = entry.outcome ?? NO_OUTCOME
  const outcome: EntryOutcome = {
    ...before,
    // A commit that says nothing has made what was shown before.
    ...(reply.output === null ? {} : { output: { inline: reply.output } }),
    sideEffects: [...before.sideEffects, ...(reply.sideEffects ?? [])],
    warnings: [...new Set([...before.warnings, ...(reply.warnings ?? [])])],
    ...(reply.usage === undefined ? {} : { usage: reply.usage }),
  }
  const hash = reply.output === null ? {} : { output_hash: sha256Hex(serialize(reply.output)) }
  const moved = await kit.ledger.move(entry, {
    path: ['committed'],
    set: { outcome, settledAt: kit.world.clock.now() },
    ...told(entry, 'committed', outcome, known, kit),
    facts: [phaseFact('commit.completed', entry, hash)],
  })
  if (moved.kind === 'moved') return undefined
  // Another process took it over, because the lease of this one had ended: what the tool said still counts (S28).
  return (await settleLate(entry, reply, target, phases, kit))
    ? undefined
    : createFailure('outcome-not-recorded', {
        message: 'another process has taken this call over',
        harmless: false,
      })
}

/** It was not committed, for certain: the caller may try again until the deadline. */
async function refused(entry: Entry, { reply, aborted }: AttemptOutcome, kit: Kit): Promise<Failure> {
  const said = reply?.kind === 'failure' ? reply : undefined
  const failure = createFailure(said?.failure ?? 'timeout-before-send', {
    ...(said?.message === undefined ? {} : { message: said.message }),
    details: {
      ...said?.details,
      call_id: entry.callId,
      effect_state: 'prepared',
      ...(aborted ? { aborted } : {}),
    },
    harmless: true,
    ...(said?.toolRetryable === undefined ? {} : { said: { retryable: said.toolRetryable, counts: true } }),
  })
  const moved = await kit.ledger.move(entry, {
    path: ['prepared'],
    facts: [phaseFact('commit.refused', entry, { failure: failure.id })],
    timers: [deadlineLeft(entry, kit)],
  })
  return moved.kind === 'moved' ? failure : createFailure('commit-unknown', { harmless: false })
}

async function unknown(
  entry: Entry,
  known: CallRecord | undefined,
  { reply, aborted }: AttemptOutcome,
  lastedMs: number,
  target: CatalogTool,
  phases: TwoPhase,
  kit: Kit,
): Promise<Failure> {
  const cause = reply?.kind === 'failure' ? reply.failure : (aborted ?? 'output-invalid')
  const query = target.tool.operations[entry.operation]?.effect.statusQuery
  const failure = createFailure('commit-unknown', {
    details: { call_id: entry.callId, cause },
    harmless: false,
    asking: query !== undefined,
  })
  const outcome: EntryOutcome = { ...(entry.outcome ?? NO_OUTCOME), failure }
  const also = told(entry, 'commit-unknown', outcome, known, kit)
  // What was sent may still arrive for as long as it was allowed to take.
  const strayMs = Math.max(0, (target.tool.operations[phases.commit]?.timeoutMs ?? 0) - lastedMs)
  const ask = query === undefined ? [] : [reconcileTimer(entry.id, strayMs + query.quietMs, kit.world)]
  const moved = await kit.ledger.move(entry, {
    path: ['commit-unknown'],
    set: { outcome, settledAt: kit.world.clock.now() },
    calls: also.calls,
    timers: [...also.timers, ...ask],
    facts: [phaseFact('commit.unknown', entry, { cause })],
  })
  if (moved.kind === 'moved') {
    const ids = { entry_id: entry.id, call_id: entry.callId, tool_id: entry.tool }
    kit.events.emit('entry:unknown', { ...ids, failure: failure.id })
  }
  return failure
}

/** A reply that came after its commit was given up, or after another process took it over (S28). */
async function settleLate(
  entry: Entry,
  reply: Reply,
  target: CatalogTool,
  phases: TwoPhase,
  kit: Kit,
): Promise<boolean> {
  if (reply.kind !== 'success' || !isAsPromised(reply, target, phases)) return false
  try {
    const now = await kit.ledger.find(entry.scope, entry.key)
    if (now?.state !== 'commit-unknown') return false
    const output = reply.output === null ? {} : { output: reply.output }
    return (await settleUnknown(now, { as: 'done', by: 'late-reply', ...output }, kit)).kind === 'moved'
  } catch (error) {
    onlyUnavailable(error)
    return false
  }
}
