// Permissions as text: which one covers which, and what two of them have in common.

interface Wildcard {
  readonly head: string
  readonly tail: string
}

/** `KIND:BEGINNING*` or `KIND:BEGINNING*:ACTION`. A star anywhere else is a star, and covers nothing but itself. */
function wildcardOf(permission: string): Wildcard | undefined {
  const star = permission.indexOf('*')
  if (star < 0 || permission.indexOf(':') < 0 || permission.indexOf(':') > star) return undefined
  const tail = permission.slice(star + 1)
  return tail === '' || tail.startsWith(':') ? { head: permission.slice(0, star), tail } : undefined
}

export function isWildcard(permission: string): boolean {
  return wildcardOf(permission) !== undefined
}

export function covers(permission: string, wanted: string): boolean {
  if (permission === wanted) return true
  const wildcard = wildcardOf(permission)
  if (wildcard === undefined) return false
  const { head, tail } = wildcard
  // What may be done with a tool is the last part of its permission, so a star for the name does not reach it.
  if (tail === '' && wanted.startsWith('tool:')) return false
  return wanted.length >= head.length + tail.length && wanted.startsWith(head) && wanted.endsWith(tail)
}

/** What both cover, never more; undefined for nothing. */
export function common(one: string, other: string): string | undefined {
  if (covers(one, other)) return other
  if (covers(other, one)) return one
  const [a, b] = [wildcardOf(one), wildcardOf(other)]
  if (a === undefined || b === undefined || a.tail !== b.tail) return undefined
  if (a.head.startsWith(b.head)) return one
  return b.head.startsWith(a.head) ? other : undefined
}
