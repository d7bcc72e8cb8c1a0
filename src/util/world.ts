// Everything a runtime takes from outside itself: time, chance, identity and the network.
// Only composition roots make one, so that a simulator can hand in its own.
import type { Dispatcher } from 'undici'

export interface Clock {
  /** Wall time in epoch milliseconds. It may jump; use it for stamps, never for waiting (S12). */
  now(): number
  /** Monotonic milliseconds. Every deadline inside the process is in this time (S12). */
  monotonic(): number
}

export interface Timer {
  cancel(): void
}

export interface World {
  readonly clock: Clock
  /** Runs after `ms`; delays past 2^31 ms are re-armed (S12). */
  after(ms: number, run: () => void): Timer
  /** Runs once the current work is done, before any timer. */
  soon(run: () => void): void
  /** Uniform in [0, 1). */
  random(): number
  /** A new UUIDv7. */
  id(): string
  /** What nobody can guess: so many random bytes, in base64url. */
  secret(bytes: number): string
  /** The one way out to HTTP services. */
  readonly network: Dispatcher
  /** This life of the process; owner of every entry that it works on. */
  readonly epoch: string
}
