// Stage 9: the attempt loop. Before each send the decision is made again and the time is looked at; before the first,
// the intent is on disk. Every send is classified by what it may have done to the world, never by its status alone.
import { type EffectState, isReadOnly } from '../contract/effect.ts'
import type { Entry } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure } from '../contract/projection.ts'
import { guardsOf, stopKindOf } from '../contract/stop.ts'
import { toolKeyOf } from '../ledger/fingerprint.ts'
import type { IntendResult } from '../ledger/ledger.ts'
import { StoreUnavailable } from '../store/store.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import type { Send } from '../transport/transport.ts'
import type { Abort } from '../util/abort.ts'
import { answerOf, recordOf, runningRecord } from './answer.ts'
import { type AttemptOutcome, runAttempt } from './attempt.ts'
import { overBudget } from './authorize.ts'
import { backoff } from './backoff.ts'
import { narrowedPart, repeated } from './claim.ts'
import { type Classified, classify, mayRepeat, stopped, tooLate } from './classify.ts'
import {
  type FirstCredential,
  firstCredential,
  isRenewable,
  onlyWith,
  renewalWait,
  sameCredential,
} from './credential-use.ts'
import { startedFact } from './evidence.ts'
import { keepHandle } from './handle.ts'
import { inquire } from './inquire.ts'
import type { Kit } from './kit.ts'
import { onLateReply } from './late-reply.ts'
import { handleLost, leaveMemory, mayLeaveMemory } from './leave-memory.ts'
import { pause, within } from './pause.ts'
import { stopped as stoppedEarly } from './permit.ts'
import { failedResult, refuse, runningResult } from './result.ts'
import { memberSettled, sagaClosed } from './saga-member.ts'
import {
  type Admitted,
  type Again,
  advance,
  type Executed,
  type Execution,
  type StageResult,
} from './stages.ts'
import { stillAllowed } from './still-allowed.ts'
import { sentAs } from './two-phase-prepare.ts'
import { isGrantUse, usedFacts, useOf } from './use-approval.ts'

export async function execute(state: Admitted, kit: Kit): Promise<StageResult<Executed> | Again> {
  const transport = kit.transport(state.target.tool.type)
  if (transport === undefined)
    throw new Error(`admitted a tool without a transport: ${state.target.tool.type}`)

  let intended: Entry | undefined
  let attempt = state.entry.attempts
  let sent = false
  let last: Classified | undefined
  let lastDeadline: number | undefined
  let renewed = false
  let keeping: Promise<Entry | undefined> | undefined
  const leavesMemory = mayLeaveMemory(state, transport, kit)
  const first = firstCredential(state, kit)
  const credential = first instanceof Promise ? await first : first

  for (let tries = 1; ; tries++) {
    const allowed = await stillAllowed(state, tries === 1, kit)
    if (allowed.kind === 'again') return allowed
    if (allowed.kind === 'refused') {
      if (!sent && intended === undefined) return ended(state, allowed.failure)
      // Refused after a send: what was sent may still have had its effect (S36).
      last = { effect: last?.effect ?? 'not-done', failure: allowed.failure, sideEffects: [] }
      break
    }
    if (intended === undefined && (needsIntent(state) || leavesMemory)) {
      const written = await intend(state, credential, leavesMemory, kit)
      if (written.kind !== 'intended') return written
      intended = written.entry
      state.held.intended = intended
    }
    const left = state.deadline - kit.world.clock.monotonic()
    const now = kit.steadyNow()
    if (state.abort.aborted || left <= 0) {
      last = stopped(state, state.abort.reason ?? 'timeout', last, now)
      break
    }
    const open = (last?.effect ?? state.continued?.state) === 'unknown'
    const entry = intended ?? state.entry
    if (open && !(await isStillHarmless(state, entry, now, kit))) {
      last = tooLate(last)
      break
    }
    if (kit.ledger.failed !== undefined) {
      // Nobody can say any more what is on record: nothing more is sent (S37).
      if (last !== undefined) break
      if (intended === undefined) {
        return refuse(state, 'intent-not-recorded')
      }
      // It is on record that this would be sent: only what is on record about it next ends the call.
      closeUnsent(state, { kind: 'intended', entry: intended }, kit)
      state.held.intended = undefined
      return { kind: 'end', result: { ...runningResult(state), entryId: intended.id } }
    }
    const deadline = state.deadline - left + Math.min(state.bounds.timeoutMs, left)
    const number = attempt + 1
    const outcome = await runAttempt(
      transport,
      (abort) => ({
        ...sendOf(state, number, left, abort, kit),
        ...(leavesMemory ? { detach: true } : {}),
        ...(renewed ? { renewed } : {}),
        ...(open ? onlyWith(state, entry) : {}),
      }),
      state.abort,
      (fact) => {
        if (fact.kind === 'attempt') state.held.attempt = fact.attempt
        state.onFact(fact)
      },
      kit.world,
      {
        maySend: () => kit.ledger.maySend,
        late: (reply) => onLateReply(state, number, reply, kit),
        accepted: (handle) => {
          const until = kit.steadyNow() + deadline - kit.world.clock.monotonic()
          keeping = keepHandle(state, intended, number, handle, kit, leavesMemory ? until : undefined)
        },
      },
    )
    let kept: Entry | undefined
    if (keeping !== undefined) {
      kept = await keeping
      intended = kept ?? intended
      state.held.intended = intended
      keeping = undefined
    }
    if (outcome.sent) {
      attempt++
      sent = true
      lastDeadline = deadline
    }
    if (outcome.accepted !== undefined) {
      const gone = await leaveMemory(state, kept, outcome.accepted.pollInMs, kit)
      if (gone !== undefined) return gone
      last = handleLost(state)
      break
    }
    last = classify(state, outcome, open, left, kit.steadyNow())
    if (last.effect === 'unknown') last = await inquire(state, last, lastDeadline ?? deadline, kit)
    if (last.failure === undefined) break

    // The one try for a new access token is beside those that the tool allows (rule `once`).
    const renewing: boolean = !renewed && isRenewable(last.failure)
    const wait = renewing ? renewalWait(state, kit) : nextWait(state, last, tries - (renewed ? 1 : 0), kit)
    renewed ||= renewing
    reportAttempt(state, attempt, outcome, last.failure, wait, kit)
    if (wait === undefined) {
      last = exhausted(state, last, tries - (renewed ? 1 : 0))
      break
    }
    if (!(await pause(wait, state.abort, kit.world))) {
      last = stopped(state, state.abort.reason ?? 'timeout', last, kit.steadyNow())
      break
    }
  }
  return advance(state, { execution: executionOf(last, attempt, sent, intended, lastDeadline) })
}

/** Whatever must not happen twice is on record before it is sent: effects, and what people or budgets gave for it. */
function needsIntent({ operation, decision, approval, grant }: Admitted): boolean {
  return (
    !isReadOnly(operation.effect) ||
    approval !== undefined ||
    grant !== undefined ||
    decision.spends.length > 0
  )
}

/** S22: the tool still knows the key, and whose it is. */
async function isStillHarmless(state: Admitted, entry: Entry, now: number, kit: Kit): Promise<boolean> {
  return mayRepeat(state.operation.effect, entry.createdAt, now) && (await sameCredential(state, entry, kit))
}

type Intended = { readonly kind: 'intended'; readonly entry: Entry } | StageResult<never> | Again

/** The first of the two times a write waits for the disk (S34). */
async function intend(
  state: Admitted,
  credential: FirstCredential,
  onRecord: boolean,
  kit: Kit,
): Promise<Intended> {
  const { identity } = state.operation.effect
  // Somebody has decided about a repeat that was approved; all others must still be the only one (S14).
  const unique = identity !== undefined && !isAgreedRepeat(state)
  try {
    const writing = kit.ledger.intend(
      state.continued ? { ...state.entry, callId: state.call.id } : { ...state.entry, ...credential },
      unique ? state.receivedAt - identity.windowMs : undefined,
      [startedFact(state, kit), ...usedFacts(state, kit)],
      {
        // Other processes and tools must be able to find the call, and recovery the one that continues an entry.
        ...(state.continued || kit.refresh || onRecord ? { call: runningRecord(state, kit) } : {}),
        ...useOf(state, kit),
        ...renarrowed(state),
        unless: guardsOf(state.caller, state.call.tool, state.call.agent),
      },
    )
    // A database that is away must not hold its callers.
    const left = state.deadline - kit.world.clock.monotonic()
    const written = await within(left, writing, kit.world)
    if (written === undefined) {
      // Whatever becomes of the intent, nothing is sent for it: it is closed as soon as it is there. Until then nobody
      // knows whether it is, and another life may find it: the call is open.
      writing.then((late) => closeUnsent(state, late, kit), onlyUnavailable)
      return { kind: 'end', result: { ...runningResult(state), entryId: state.entry.id } }
    }
    if (written.kind === 'intended') return written
    if (written.on === 'saga') return sagaClosed(state)
    if (written.on === 'identity' && written.entry) return repeated(state, written.entry)
    if (written.on === 'stopped') return stoppedBy(state, written.stop ?? '', kit)
    if (written.on === 'budget' && written.spend && !isGrantUse(written.spend)) {
      return overBudget(state, written.spend)
    }
    const found = written.entry
    // A conflict with one's own nonce is ownership: the acknowledgement was lost, not the intent (S35).
    if (found?.callId === state.call.id && found.epoch === kit.world.epoch && found.state === 'intended') {
      return { kind: 'intended', entry: found }
    }
    return { kind: 'again' }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    // It may be on disk all the same, and be found by the next life: then that one ends the call.
    if (error.maybeWritten)
      return { kind: 'end', result: { ...runningResult(state), entryId: state.entry.id } }
    return refuse(state, 'intent-not-recorded')
  }
}

/** S43: an entry that is there already is sent as policy makes it now. */
function renarrowed(state: Admitted): Pick<Entry, 'narrowed'> {
  return state.entry.revision === 0 ? {} : narrowedPart(state)
}

function isAgreedRepeat({ decision, approval }: Admitted): boolean {
  return approval !== undefined && decision.matches.some(({ code }) => code === 'effect-repeated')
}

/** Somebody stopped it a moment ago: here that may not be known yet. */
function stoppedBy(state: Admitted, name: string, kit: Kit): StageResult<never> {
  const kind = stopKindOf(name)
  const known = kit.authority.stopped(state.caller, state.call.tool, state.call.agent)
  return stoppedEarly(
    state,
    known ?? { kind, name, reason: 'stopped by an operator', at: kit.world.clock.now() },
  )
}

/** Ends a call that was sent nowhere. */
function ended(state: Admitted, failure: Failure): StageResult<never> {
  const open = state.continued?.state === 'unknown'
  const result = failedResult(state, failure, open ? 'unknown' : 'none')
  if (state.continued === undefined) return { kind: 'end', result }
  return {
    kind: 'end',
    result: { ...result, attempt: state.continued.attempts, entryId: state.continued.id },
  }
}

/** Nothing was sent for this intent, and nothing will be. */
function closeUnsent(state: Admitted, late: IntendResult, kit: Kit): void {
  if (late.kind !== 'intended') return
  const failure = createFailure('timeout-before-send', {
    message: 'the intent was on record too late; nothing was sent',
  })
  // An earlier send of this entry may have had its effect; this one had none.
  const to = state.continued?.state === 'unknown' ? 'unknown' : 'not-done'
  const outcome = { failure, sideEffects: [], warnings: [] }
  const set = { attempts: late.entry.attempts, outcome, settledAt: kit.world.clock.now() }
  const result = failedResult(state, failure, to)
  const record = recordOf(state, answerOf(state, result, kit), late.entry.id, kit)
  const timers = memberSettled(late.entry, result)
  kit.ledger.move(late.entry, { path: [to], set, calls: [record], timers }).catch(onlyUnavailable)
}

function sendOf(state: Admitted, attempt: number, left: number, abort: Abort, kit: Kit): Send {
  const { call, caller } = state
  const timeoutMs = Math.min(state.bounds.timeoutMs, left)
  const key = toolKeyOf(state.scope, state.key)
  return {
    callId: call.id,
    requestId: call.requestId,
    tool: state.target.tool,
    ...sentAs(state, key),
    key,
    attempt,
    ...(state.undoes === undefined ? {} : { undoneKey: state.undoes.toolKey }),
    namespace: caller.namespace,
    actor: caller.actor,
    ...(call.agent === undefined ? {} : { agent: call.agent }),
    ...(call.taskId === undefined ? {} : { taskId: call.taskId }),
    trace: call.trace,
    constraints: call.constraints,
    ...(call.echo === undefined ? {} : { echo: call.echo }),
    timeoutMs,
    deadlineUnixMs: Math.floor(kit.world.clock.now() + timeoutMs),
    abort,
  }
}

/** How long to wait before trying again, undefined for not at all: the execution deadline is never exceeded. */
function nextWait(state: Admitted, last: Classified, tries: number, kit: Kit): number | undefined {
  if (last.failure?.retryable !== true || tries >= state.bounds.maxAttempts || state.abort.aborted)
    return undefined
  const own = backoff(state.bounds, tries, kit.world.random)
  const wait = Math.max(own, last.retryAfterMs ?? 0)
  return kit.world.clock.monotonic() + wait < state.deadline ? wait : undefined
}

/** Spending the retries never changes whether one more would be safe; it is said beside it (S24). */
function exhausted(state: Admitted, last: Classified, tries: number): Classified {
  if (last.failure?.retryable !== true || state.bounds.maxAttempts === 1) return last
  const by = tries >= state.bounds.maxAttempts ? 'attempts' : 'deadline'
  return {
    ...last,
    failure: { ...last.failure, details: { ...last.failure.details, exhausted: by, attempts: tries } },
  }
}

function reportAttempt(
  state: Admitted,
  attempt: number,
  outcome: AttemptOutcome,
  failure: Failure,
  wait: number | undefined,
  kit: Kit,
): void {
  kit.events.emit('attempt:failed', {
    call_id: state.call.id,
    tool_id: state.target.tool.name,
    attempt,
    failure: failure.id,
    sent: outcome.sent,
    retry_in_ms: wait ?? null,
  })
  if (wait === undefined) return
  const body = {
    entry_id: state.entry.id,
    actor: state.caller.actor,
    tool: state.target.tool.name,
    attempt,
    failure: failure.id,
    sent: outcome.sent,
    retry_in_ms: Math.round(wait),
  }
  kit.ledger.noteFact(state.caller.namespace, state.call.id, { type: 'attempt.failed', body }).catch(() => {
    // The store has failed: the next intent or settle of this call says so.
  })
}

function executionOf(
  last: Classified,
  attempt: number,
  sent: boolean,
  intended: Entry | undefined,
  lastDeadline: number | undefined,
): Execution {
  const effect: EffectState = last.effect
  return {
    attempt,
    sent,
    effect,
    ...(last.failure === undefined ? { output: last.output ?? null } : { failure: last.failure }),
    ...(last.bytes === undefined ? {} : { bytes: last.bytes }),
    sideEffects: last.sideEffects,
    ...(last.commitToken === undefined ? {} : { commitToken: last.commitToken }),
    ...(last.toolToken === undefined ? {} : { toolToken: last.toolToken }),
    ...(last.usage === undefined ? {} : { usage: last.usage }),
    ...(intended === undefined ? {} : { intended }),
    ...(last.asked === undefined ? {} : { asked: last.asked }),
    ...(lastDeadline === undefined ? {} : { lastDeadline }),
  }
}
