// The real World: this machine's clocks, timers, randomness and network. Only composition roots make one.
import { randomBytes } from 'node:crypto'
import { Dispatcher } from 'undici'
import { createUuid7 } from './uuid.ts'
import type { Timer, World } from './world.ts'

export interface SystemWorldOptions {
  /** The way out to HTTP services. @default none: nothing leaves such a world */
  readonly network?: Dispatcher
}

/** `network` belongs to whoever made the world: close it when the runtime is closed. */
export function createSystemWorld(options: SystemWorldOptions = {}): World {
  const id = createUuid7(Date.now, randomBytes)
  return Object.freeze({
    clock: Object.freeze({ now: () => Date.now(), monotonic: () => performance.now() }),
    after: startTimer,
    soon: (run: () => void) => void setImmediate(run),
    random: () => Math.random(),
    id,
    secret: (bytes: number) => randomBytes(bytes).toString('base64url'),
    network: options.network ?? new NoNetwork(),
    epoch: id(),
  })
}

/** A connection that no guard has looked at must not be had by leaving something out. */
class NoNetwork extends Dispatcher {
  override dispatch(): boolean {
    throw new Error('this world has no network. Fix: make it with createSystemWorld({ network })')
  }

  override close(): Promise<void>
  override close(callback: () => void): void
  override close(callback?: () => void): Promise<void> | void {
    return ended(callback)
  }

  override destroy(): Promise<void>
  override destroy(error: Error | null): Promise<void>
  override destroy(callback: () => void): void
  override destroy(error: Error | null, callback: () => void): void
  override destroy(first?: Error | null | (() => void), second?: () => void): Promise<void> | void {
    return ended(typeof first === 'function' ? first : second)
  }
}

function ended(callback: (() => void) | undefined): Promise<void> | void {
  if (callback === undefined) return Promise.resolve()
  callback()
}

/** The longest delay that a Node timer takes; a longer one would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1

/**
 * Runs after `ms` on the monotonic clock, never earlier: Node counts whole milliseconds and may fire a fraction too
 * soon, which would make a deadline look unreached to the code it wakes. Never unreferenced: deadlines must fire.
 */
function startTimer(ms: number, run: () => void): Timer {
  const due = performance.now() + Math.max(ms, 0)
  let handle: NodeJS.Timeout
  const arm = () => {
    handle = setTimeout(fire, Math.min(Math.max(Math.ceil(due - performance.now()), 0), MAX_DELAY_MS))
  }
  const fire = () => {
    if (performance.now() < due) arm()
    else run()
  }
  arm()
  return { cancel: () => clearTimeout(handle) }
}
