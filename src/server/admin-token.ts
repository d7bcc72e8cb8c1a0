// Authentication by the one token of the local admin.
import { hash, timingSafeEqual } from 'node:crypto'
import { type Caller, createLocalAdmin } from '../contract/caller.ts'

/** Who a bearer token stands for. Nobody is the default (S41). */
export type Authenticate = (token: string | undefined) => Caller | undefined

/** Compares digests, so that neither the time taken nor a length tells how much of a guess was right. */
export function createAdminTokenAuth(token: string): Authenticate {
  if (token === '') throw new Error('The admin token is empty: anyone could be the admin.')
  const expected = digest(token)
  const admin = createLocalAdmin()
  return (given) => (given !== undefined && timingSafeEqual(digest(given), expected) ? admin : undefined)
}

function digest(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
