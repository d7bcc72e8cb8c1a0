// The rules of time.
import { type Mutation, one } from './mutation.ts'

const EXECUTE = 'src/pipeline/execute.ts'
const ATTEMPT = 'src/pipeline/attempt.ts'

export const TIME_MUTATIONS: readonly Mutation[] = [
  one(
    'deadline-in-the-loop',
    'S9',
    EXECUTE,
    `if (state.abort.aborted || left <= 0) {`,
    `if (state.abort.aborted) {`,
  ),
  one(
    'timer-of-each-attempt',
    'S9',
    ATTEMPT,
    `this.#deadline = world.after(this.#send.timeoutMs, () => this.#stop('timeout'))`,
    `this.#deadline = world.after(1_000_000 * this.#send.timeoutMs, () => this.#stop('timeout'))`,
  ),
  one(
    'attempt-ends-with-the-deadline',
    'S9',
    EXECUTE,
    `const timeoutMs = Math.min(state.bounds.timeoutMs, left)`,
    `const timeoutMs = state.bounds.timeoutMs + 0 * left`,
  ),
  one(
    'backoff-ends-before-the-deadline',
    'S9',
    EXECUTE,
    `return kit.world.clock.monotonic() + wait < state.deadline ? wait : undefined`,
    `return wait`,
  ),
  one(
    'retry-after-is-kept',
    'S22',
    EXECUTE,
    `const wait = Math.max(own, last.retryAfterMs ?? 0)`,
    `const wait = own`,
  ),
  one(
    'slow-disk-does-not-hold-the-caller',
    'S9',
    'src/pipeline/live-call.ts',
    `Math.min(waitMs ?? Number.POSITIVE_INFINITY, left)`,
    `(waitMs ?? Number.POSITIVE_INFINITY * left)`,
  ),
  one(
    'deadlines-are-monotonic',
    'S12',
    EXECUTE,
    `const left = state.deadline - kit.world.clock.monotonic()
    const now`,
    `const left = state.deadline - (kit.world.clock.now() - state.receivedAt + state.startedAt)
    const now`,
  ),
]
