// Sizes and rates as people write them in manifests.
import { parseDuration } from '../util/duration.ts'

const KI = 1024
/** Powers of 1024 throughout, as container tools read them: 512m and 512Mi are the same. */
const UNITS: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['b', 1],
  ['k', KI],
  ['m', KI ** 2],
  ['g', KI ** 3],
])

/** Bytes from 512Mi, 512m, 512MB, 1g or a bare number, which counts `bareUnit` bytes. undefined for anything else. */
export function parseSize(size: number | string, bareUnit: number): number | undefined {
  if (typeof size === 'number') return Number.isInteger(size) && size > 0 ? fit(size * bareUnit) : undefined
  const match = /^(\d{1,15})(?:([kmg])i?b?|(b))?$/i.exec(size.trim())
  if (match === null) return undefined
  const unit = match[2] ?? match[3]
  const scale = unit === undefined ? bareUnit : UNITS.get(unit.toLowerCase())
  return scale === undefined ? undefined : fit(Number(match[1]) * scale)
}

export const MEGABYTE = KI ** 2

function fit(bytes: number): number | undefined {
  return bytes > 0 && Number.isSafeInteger(bytes) ? bytes : undefined
}

/** Each call of a window is remembered one by one, so that the limit is exact. */
const MAX_RATE = 100_000

export interface Rate {
  readonly max: number
  readonly perMs: number
}

/** 10/s, 100/m, 5/30s, or {max, per}. undefined for anything else. */
export function parseRate(rate: string | { readonly max: number; readonly per: string }): Rate | undefined {
  const [max, per] = typeof rate === 'string' ? splitRate(rate) : [rate.max, rate.per]
  const perMs = per === undefined ? undefined : parseDuration(/^\D/.test(per) ? `1${per}` : per)
  if (max === undefined || perMs === undefined || perMs < 1) return undefined
  if (!Number.isSafeInteger(max) || max < 1 || max > MAX_RATE) return undefined
  return { max, perMs: Math.ceil(perMs) }
}

function splitRate(text: string): [number, string] | [undefined, undefined] {
  const match = /^\s*(\d{1,9})\s*\/\s*(\w+)\s*$/.exec(text)
  return match?.[1] === undefined || match[2] === undefined
    ? [undefined, undefined]
    : [Number(match[1]), match[2]]
}
