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
      details: { path: 'spec.type' },
    })
  }
  if (tool.isolation !== 'none') {
    return refuse(state, 'isolation-unavailable', {
      message: `isolation '${tool.isolation}' cannot be provided by this build`,
      details: { path: 'spec.runtime.isolation_mode' },
    })
  }
  if (tool.auth !== undefined) {
    return refuse(state, 'secret-missing', {
      message: `the secret '${tool.auth.secretRef}' cannot be resolved: this build has no secret store`,
      details: { path: 'spec.auth', secret_ref: tool.auth.secretRef },
    })
  }
  const [first] = tool.unenforced
  if (first === undefined) return undefined
  return refuse(state, first.failure ?? 'control-unavailable', {
    message: `${first.path}: ${first.why}`,
    details: { path: first.path },
  })
}
