// How long to wait before the next attempt: capped exponential, with jitter.
import type { Bounds } from './stages.ts'

/** The wait after attempt `attempt` of this call (1 for its first), without jitter. */
function ceiling(bounds: Bounds, attempt: number): number {
  return Math.min(bounds.maxBackoffMs, bounds.backoffMs * 2 ** Math.min(attempt - 1, 30))
}

/** `full`: between 0 and the ceiling; `equal`: half fixed, half random. `random` is uniform in [0, 1). */
export function backoff(bounds: Bounds, attempt: number, random: () => number): number {
  const most = ceiling(bounds, attempt)
  if (most === 0 || bounds.jitter === 'none') return most
  return bounds.jitter === 'full' ? most * random() : most / 2 + (most / 2) * random()
}

/** attempts x timeout + backoffs: the longest that execution can take (S9). */
export function longestRun(bounds: Bounds): number {
  let total = bounds.maxAttempts * bounds.timeoutMs
  for (let attempt = 1; attempt < bounds.maxAttempts; attempt++) total += ceiling(bounds, attempt)
  return total
}
