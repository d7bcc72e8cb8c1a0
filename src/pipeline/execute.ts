// Stage 9: the attempt loop. Before each send the decision is made again and the time is looked at; before the first,
// the intent is on disk. Every send is classified by what it may have done to the world, never by its status alone.
import { type EffectState, isReadOnly } from '../contract/effect.ts'
import type { Entry } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure } from '../contract/projection.ts'
import { permit } from '../governance/permit.ts'
import { toolKeyOf } from '../ledger/fingerprint.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Send } from '../transport/transport.ts'
import type { Abort } from '../util/abort.ts'
import { runningRecord } from './answer.ts'
import { type AttemptOutcome, runAttempt } from './attempt.ts'
import { backoff } from './backoff.ts'
import { repeated } from './claim.ts'
import { type Classified, classify, mayRepeat, stopped, tooLate } from './classify.ts'
import { startedFact } from './evidence.ts'
import type { Kit } from './kit.ts'
import { denied } from './permit.ts'
import { refuse, resultOfEntry } from './result.ts'
import { type Admitted, advance, type Executed, type Execution, type StageResult } from './stages.ts'

export async function execute(state: Admitted, kit: Kit): Promise<StageResult<Executed>> {
  const transport = kit.transport(state.target.tool.type)
  if (transport === undefined)
    throw new Error(`admitted a tool without a transport: ${state.target.tool.type}`)

  let intended: Entry | undefined
  let attempt = state.entry.attempts
  let sent = false
  let last: Classified | undefined

  for (let tries = 1; ; tries++) {
    const permission = permit(state.caller, state.target.tool)
    if (permission.kind === 'denied') {
      if (intended === undefined) return denied(state, permission.missing, permission.why)
      // Denied after a send: what was sent may still have had its effect (S36).
      const failure = createFailure('permission-denied', {
        message: permission.why,
        details: { missing: permission.missing },
      })
      last = { effect: last?.effect ?? 'not-done', failure, sideEffects: [] }
      break
    }
    if (intended === undefined && !isReadOnly(state.operation.effect)) {
      const written = await intend(state, kit)
      if (written.kind !== 'intended') return written
      intended = written.entry
      state.held.intended = intended
    }
    const left = state.deadline - kit.world.clock.monotonic()
    const now = kit.world.clock.now()
    if (state.abort.aborted || left <= 0) {
      last = stopped(state, state.abort.reason ?? 'timeout', last, now)
      break
    }
    const open = (last?.effect ?? state.continued?.state) === 'unknown'
    if (open && !mayRepeat(state.operation.effect, state.entry.createdAt, now)) {
      last = tooLate(last)
      break
    }
    if (kit.ledger.failed !== undefined) {
      // Nobody can say any more what is on record: nothing more is sent (S37).
      if (last === undefined)
        return refuse(state, 'intent-not-recorded', { message: kit.ledger.failed.message })
      break
    }
    const outcome = await runAttempt(
      transport,
      (abort) => sendOf(state, attempt + 1, left, abort, kit),
      state.abort,
      (fact) => {
        if (fact.kind === 'attempt') state.held.attempt = fact.attempt
        state.onFact(fact)
      },
      kit.world,
    )
    if (outcome.sent) {
      attempt++
      sent = true
    }
    last = classify(state, outcome, open, left, kit.world.clock.now())
    if (last.failure === undefined) break

    const wait = nextWait(state, last, tries, kit)
    reportAttempt(state, attempt, outcome, last.failure, wait, kit)
    if (wait === undefined) {
      last = exhausted(state, last, tries)
      break
    }
    if (!(await pause(state, wait, kit))) {
      last = stopped(state, state.abort.reason ?? 'timeout', last, kit.world.clock.now())
      break
    }
  }
  return advance(state, { execution: executionOf(last, attempt, sent, intended) })
}

type Intended = { readonly kind: 'intended'; readonly entry: Entry } | StageResult<never>

/** The first of the two times a write waits for the disk (S34). */
async function intend(state: Admitted, kit: Kit): Promise<Intended> {
  const { identity } = state.operation.effect
  // Somebody has decided about a repeat that was approved; all others must still be the only one (S14).
  const unique = identity !== undefined && state.approvalReasons.length === 0
  try {
    const written = await kit.ledger.intend(
      state.continued ? { ...state.entry, callId: state.call.id } : state.entry,
      unique ? state.receivedAt - identity.windowMs : undefined,
      [startedFact(state)],
      state.continued ? runningRecord(state, kit) : undefined,
    )
    if (written.kind === 'intended') return written
    if (written.on === 'identity' && written.entry) return repeated(state, written.entry)
    if (written.entry)
      return { kind: 'end', result: { ...resultOfEntry(written.entry), state: 'running', effect: 'pending' } }
    return refuse(state, 'outcome-unknown', {
      message: 'another owner changed this entry',
      details: { call_id: state.entry.callId },
    })
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return refuse(state, 'intent-not-recorded', { message: error.message })
  }
}

function sendOf(state: Admitted, attempt: number, left: number, abort: Abort, kit: Kit): Send {
  const { call, caller } = state
  const timeoutMs = Math.min(state.bounds.timeoutMs, left)
  return {
    callId: call.id,
    requestId: call.requestId,
    tool: state.target.tool,
    operation: state.operation,
    input: state.input,
    text: state.payloadText,
    key: toolKeyOf(state.scope, state.key),
    attempt,
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

/** False when the call was aborted meanwhile. */
function pause(state: Admitted, ms: number, kit: Kit): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = kit.world.after(ms, () => {
      unlisten()
      resolve(true)
    })
    const unlisten = state.abort.listen(() => {
      timer.cancel()
      resolve(false)
    })
  })
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
  const body = { attempt, failure: failure.id, sent: outcome.sent, retry_in_ms: Math.round(wait) }
  kit.ledger.noteFact(state.caller.namespace, state.call.id, { type: 'attempt.failed', body }).catch(() => {
    // The store has failed: the next intent or settle of this call says so.
  })
}

function executionOf(
  last: Classified,
  attempt: number,
  sent: boolean,
  intended: Entry | undefined,
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
    ...(last.usage === undefined ? {} : { usage: last.usage }),
    ...(intended === undefined ? {} : { intended }),
  }
}
