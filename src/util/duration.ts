// Durations as people write them in manifests: Go's notation, such as 10s, 500ms or 1h30m.

const MS_PER_UNIT: Readonly<Record<string, number>> = Object.freeze({
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3, // U+00B5
  μs: 1e-3, // U+03BC
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
})

const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g
const WHOLE = /^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/

/** Nothing real is longer, and every text that is read fits a signed 64-bit count of nanoseconds. */
const MAX_TEXT = 64
const MAX_MS = (2 ** 63 - 1) / 1e6

/** Milliseconds; undefined for anything else, a negative duration included. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0
  if (text.length > MAX_TEXT || !WHOLE.test(text)) return undefined
  let total = 0
  for (const [, count, unit] of text.matchAll(PART))
    total += Number(count) * (MS_PER_UNIT[unit ?? ''] ?? Number.NaN)
  // 1.15 * 1000 is 1149.9999999999998; fifteen digits hold every duration to the microsecond, and longer ones than that.
  return total <= MAX_MS ? Number(total.toPrecision(15)) : undefined
}

/** The shortest of the same notation: 90_000 is 1m30s. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) throw new RangeError(`no duration: ${ms}`)
  if (ms === 0) return '0s'
  if (ms < 1) return ms >= 1e-3 ? `${trim(ms * 1e3)}us` : `${trim(ms * 1e6)}ns`
  if (ms < 1_000) return `${trim(ms)}ms`
  const hours = Math.floor(ms / 3_600_000)
  const minutes = Math.floor((ms % 3_600_000) / 60_000)
  const seconds = (ms % 60_000) / 1_000
  return `${hours > 0 ? `${hours}h` : ''}${minutes > 0 ? `${minutes}m` : ''}${seconds > 0 ? `${trim(seconds)}s` : ''}`
}

/** Plain decimals with at most nine places: never 1e-7. */
function trim(value: number): string {
  return value.toFixed(9).replace(/\.?0+$/, '')
}
