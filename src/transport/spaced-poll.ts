// When accepted work is asked for again: as its tool says, and less often while that cannot be reached.
import type { Accepted } from './transport.ts'

const LONGEST_BACKOFF_MS = 60_000

/** `misses`: how often in a row the tool could not be asked. */
export function spacedPoll({ pollInMs, missed }: Accepted, misses: number): number {
  if (missed === undefined) return pollInMs
  const grown = Math.min(pollInMs * 2 ** Math.min(Math.max(0, misses - 1), 16), LONGEST_BACKOFF_MS)
  return Math.max(pollInMs, grown)
}
