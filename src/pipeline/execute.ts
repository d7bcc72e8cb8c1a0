// Stage 9: the attempt loop. Before each send the decision is made again and the time is looked at; before the first,
// the intent is on disk. Every send is classified by what it may have done to the world, never by its status alone.
import { type EffectState, isReadOnly } from '../contract/effect.ts'
import type { Entry } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { toolKeyOf } from '../ledger/fingerprint.ts'
import type { Send } from '../transport/transport.ts'
import type { Abort } from '../util/abort.ts'
import { type AttemptOutcome, runAttempt } from './attempt.ts'
import { backoff } from './backoff.ts'
import { type Classified, classify, mayRepeat, stopped, tooLate } from './classify.ts'
import { firstCredential, isRenewable, onlyWith, renewalWait, sameCredential } from './credential-use.ts'
import { keepHandle } from './handle.ts'
import { inquire } from './inquire.ts'
import { closeUnsent, intend, type Kept, keepOfRead, kept } from './intend.ts'
import type { Kit } from './kit.ts'
import { onLateReply } from './late-reply.ts'
import { handleLost, leaveMemory, mayLeaveMemory } from './leave-memory.ts'
import { pause } from './pause.ts'
import { failedResult, refuse, runningResult } from './result.ts'
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
  let keeping: Promise<Kept> | undefined
  const leavesMemory = mayLeaveMemory(state, transport, kit)
  const reported = leavesMemory && transport.reports === true
  const intends = needsIntent(state) || reported
  const asked = state.operation.effect.statusQuery !== undefined
  const first = firstCredential(state, intends && (reported || asked), kit)
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
    if (intended === undefined && intends) {
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
      (abort) => {
        const send = sendOf(state, number, left, abort, kit)
        if (!leavesMemory && !renewed && !open) return send
        return {
          ...send,
          ...(leavesMemory ? { detach: true } : {}),
          ...(renewed ? { renewed } : {}),
          ...(open ? onlyWith(state, entry) : {}),
        }
      },
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
          const keep = (entry: Entry | undefined) =>
            keepHandle(state, entry, number, handle, kit, leavesMemory ? until : undefined)
          keeping =
            leavesMemory && intended === undefined
              ? keepOfRead(state, credential, number, keep, kit)
              : keep(intended).then(kept)
        },
      },
    )
    let withHandle: Entry | undefined
    if (keeping !== undefined) {
      const done = await keeping
      if (done.kind !== 'kept') return done
      withHandle = done.entry
      intended = withHandle ?? intended
      state.held.intended = intended
      keeping = undefined
    }
    if (outcome.sent) {
      attempt++
      sent = true
      lastDeadline = deadline
    }
    if (outcome.accepted !== undefined) {
      const gone = await leaveMemory(state, withHandle, outcome.accepted.pollInMs, kit)
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
