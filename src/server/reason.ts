// Why a person did something: kept in evidence, so it must be there, readable and short.
import Type from 'typebox'
import type { Violation } from '../util/json.ts'
import { refuseQuery } from './query.ts'

const MAX_REASON = 1000

export const REASON = Type.String({
  minLength: 1,
  maxLength: MAX_REASON,
  description: 'Why; it is kept in evidence.',
})

/** What a schema could only say with a pattern, which nobody wants to read. */
export function reasonViolations(reason: string): readonly Violation[] {
  const path = '/reason'
  if (reason.trim() === '') return [{ path, message: 'must say something' }]
  // Line breaks and tabs are text; everything else here is not, and some stores cannot keep it.
  if (/(?![\n\t])\p{Cc}|\p{Cs}/u.test(reason)) return [{ path, message: 'must not have control characters' }]
  return []
}

/** The same from a query string, for requests that have no body. */
export function readReason(reason: string | undefined): string | undefined {
  if (reason === undefined) return undefined
  const path = '/query/reason'
  const broken = [
    ...reasonViolations(reason).map(({ message }) => ({ path, message })),
    ...(reason.length > MAX_REASON ? [{ path, message: `must have at most ${MAX_REASON} characters` }] : []),
  ]
  if (broken.length > 0) throw refuseQuery(broken)
  return reason
}
