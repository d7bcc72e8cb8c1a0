// Durations of manifests within their bounds, in whole milliseconds. Zero and negative times never mean "no limit".
import { parseDuration } from '../util/duration.ts'
import type { Findings, Path } from './problem.ts'

export interface DurationBounds {
  readonly min: number
  readonly max: number
}

export const DAY_MS = 86_400_000

/** undefined, with an error, for text that is no duration or out of bounds. */
export function readDuration(
  findings: Findings,
  path: Path,
  text: string | undefined,
  { min, max }: DurationBounds,
): number | undefined {
  if (text === undefined) return undefined
  const ms = parseDuration(text.trim())
  if (ms === undefined) {
    findings.error(path, `'${text}' is no duration`, 'write a number and a unit: 500ms, 30s, 5m, 24h')
    return undefined
  }
  const whole = Math.ceil(ms)
  if (whole >= min && whole <= max) return whole
  const short =
    min <= 1 ? 'must be more than zero' : `must be at least ${min < 1_000 ? `${min}ms` : `${min / 1_000}s`}`
  const words = whole < min ? short : `must not be longer than ${(max / DAY_MS) * 24}h`
  findings.error(path, words, whole < min ? 'give it a real time, such as 30s' : 'shorten it')
  return undefined
}
