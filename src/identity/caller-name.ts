// What actors, roles, scopes and patterns of agents may look like in a token, whoever signed it.
import { isName } from '../resource/name.ts'

/** The local admin is who holds the admin token, and nobody else. */
const RESERVED_ACTOR = 'local-admin'

/** Printable and without spaces: it ends up in keys, in evidence and in names of stops. */
export function isActor(text: string): boolean {
  return /^[\x21-\x7e]{1,256}$/.test(text) && text !== RESERVED_ACTOR
}

export function isRole(text: string): boolean {
  return isName(text)
}

/** As a permission is written, `*` included. */
export function isScope(text: string): boolean {
  return /^[\x21-\x7e]{1,256}$/.test(text)
}

/** A name, or the beginning of one and `*`. */
export function isAgentPattern(text: string): boolean {
  return /^[\x21-\x29\x2b-\x7e]{0,255}\*?$/.test(text) && text !== ''
}

/** Whether every name that the one pattern stands for is one that the other stands for. */
export function patternCovers(wide: string, narrow: string): boolean {
  if (wide === narrow) return true
  return wide.endsWith('*') && narrow.startsWith(wide.slice(0, -1))
}

/** More than any caller needs; every one of them is looked at on every call. */
export const MAX_LISTED = 64
