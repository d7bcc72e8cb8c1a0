// The times of a token: how long one may live, and how far clocks may be apart.

export const SKEW_MS = 30_000
export const TTL_MIN_MS = 60_000
export const TTL_MAX_MS = 30 * 86_400_000
export const TTL_DEFAULT_MS = 3_600_000

/**
 * A token that was issued by a replica whose clock is ahead looks newer than it is: what takes back "all tokens until
 * now" reaches so far beyond now.
 */
export const CLOCKS_APART_MS = 5_000

/** Seconds as JWTs have them. The fraction is kept: two tokens of one second must be told apart. */
export function toSeconds(ms: number): number {
  return Math.round(ms) / 1000
}

export function toMs(seconds: number): number {
  return Math.round(seconds * 1000)
}

/** Undefined for what is no time at all. */
export function readTime(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 && value < 1e11
    ? toMs(value)
    : undefined
}
