// Stage 8: can it run now? What this build cannot enforce, the time that is left, rate and concurrency.
import type { FailureId } from '../contract/failures.ts'
import { longestRun } from './backoff.ts'
import type { Kit } from './kit.ts'
import { refuse } from './result.ts'
import { type Admitted, type Approved, advance, type StageResult } from './stages.ts'

export function admit(state: Approved, kit: Kit): StageResult<Admitted> {
  const { tool } = state.target
  const missing = missingControl(state, kit)
  if (missing !== undefined) return missing
  if (kit.ledger.failed !== undefined) {
    return refuse(state, 'intent-not-recorded', { message: 'the store has failed; nothing is sent' })
  }
  const now = kit.world.clock.monotonic()
  const { timeoutMaxMs } = state.operation
  // S9: min(deadline, limits.timeout_max, attempts x timeout + backoffs), from here.
  const deadline = Math.min(
    state.listensUntil,
    now + Math.min(timeoutMaxMs ?? Number.POSITIVE_INFINITY, longestRun(state.bounds)),
  )
  if (deadline <= now)
    return refuse(state, 'timeout-before-send', {
      message: 'the deadline passed before the call was admitted',
    })

  // Canceled: nothing is sent, so it takes no place.
  if (state.abort.aborted) return advance(state, { deadline })
  const entrance = state.call.dryRun ? kit.admission.peek(tool) : kit.admission.enter(tool)
  if (entrance.kind === 'full') {
    const id: FailureId = entrance.limit === 'rate' ? 'rate-limited' : 'concurrency-exceeded'
    return refuse(state, id, { details: { limit: entrance.max, retry_after_ms: entrance.retryAfterMs } })
  }
  state.held.slot = entrance.slot
  return advance(state, { deadline })
}

/** S33: a control that cannot be enforced refuses the call; it is never ignored. */
function missingControl(state: Approved, kit: Kit): StageResult<never> | undefined {
  const { tool } = state.target
  if (kit.transport(tool.type) === undefined) {
    return refuse(state, 'isolation-unavailable', {
      message: `tools of type '${tool.type}' cannot run in this build`,
      fix: 'Use a tool of another type; this one is kept for a version that can run it.',
      details: { path: 'spec.type' },
    })
  }
  const [first] = tool.unenforced
  if (first === undefined) return undefined
  return refuse(state, first.failure ?? 'control-unavailable', {
    message: `${first.path}: ${first.why}`,
    fix: `${first.path}: ${first.fix}.`,
    details: { path: first.path },
  })
}
