// The Prefer header (RFC 7240): how long a caller wants to wait.
import { Refusal } from './refusal.ts'

export interface Preference {
  readonly respondAsync: boolean
  readonly waitMs?: number
}

/** Preferences that are not known are ignored, as the RFC demands; a wait that is no number is refused. */
export function readPrefer(header: string | string[] | undefined): Preference {
  if (header === undefined) return NO_PREFERENCE
  const text = Array.isArray(header) ? header.join(',') : header
  let respondAsync = false
  let waitMs: number | undefined
  for (const part of text.split(',')) {
    const [name = '', value = ''] = (part.split(';')[0] ?? '').split('=').map((word) => word.trim())
    if (name.toLowerCase() === 'respond-async') respondAsync = true
    // The first of several counts (RFC 7240 section 2).
    else if (name.toLowerCase() === 'wait' && waitMs === undefined) waitMs = readWait(value)
  }
  return waitMs === undefined ? { respondAsync } : { respondAsync, waitMs }
}

export const NO_PREFERENCE: Preference = Object.freeze({ respondAsync: false })

function readWait(value: string): number {
  const bare = value.replace(/^"(.*)"$/, '$1')
  if (/^[0-9]{1,9}$/.test(bare)) return Number(bare) * 1000
  const message = 'Prefer: wait is not a whole number of seconds.'
  throw new Refusal({
    failure: 'envelope-invalid',
    message,
    fix: 'Send for example "Prefer: wait=5".',
    details: { violations: [{ path: '/headers/prefer', message }] },
  })
}
