// Authentication by the one token of the local admin.
import { hash, timingSafeEqual } from 'node:crypto'
import { type Caller, createLocalAdmin } from '../contract/caller.ts'
import { type Authenticate, refused } from './authenticate.ts'

/** Compares digests, so that neither the time taken nor a length tells how much of a guess was right. */
export function createAdminCheck(token: string): (given: string) => Caller | undefined {
  if (token === '') throw new Error('The admin token is empty: anyone could be the admin.')
  const expected = digest(token)
  const admin = createLocalAdmin()
  return (given) => (timingSafeEqual(digest(given), expected) ? admin : undefined)
}

/** For a server that knows no other callers. */
export function createAdminTokenAuth(token: string): Authenticate {
  const check = createAdminCheck(token)
  return async (given) => {
    if (given === undefined) return refused('missing')
    const caller = check(given)
    return caller === undefined ? refused('malformed') : { caller }
  }
}

function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
