// JSON pointers (RFC 6901): how Writ names a place in a JSON value.
import type { Json } from './json.ts'

export function escapePointer(segment: string): string {
  return segment.includes('~') || segment.includes('/')
    ? segment.replaceAll('~', '~0').replaceAll('/', '~1')
    : segment
}

/** The pointer that goes through these keys and indexes; '' for none. */
export function pointer(path: readonly (string | number)[]): string {
  let text = ''
  for (const segment of path) text += `/${escapePointer(String(segment))}`
  return text
}

/** A pointer to show: keys from outside can be megabytes long, and one is shown once per violation. */
export function clipPointer(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN).toWellFormed()}…`
}

const MAX_SHOWN = 1_024

export function isPointer(text: string): boolean {
  return text === '' || (text.startsWith('/') && !/~(?![01])/.test(text))
}

/** The keys of a pointer, unescaped; undefined for text that is no pointer. */
export function splitPointer(text: string): string[] | undefined {
  if (!isPointer(text)) return undefined
  return text
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** What is there, or undefined. Only own properties are followed: a pointer from outside must not reach a prototype. */
export function readPointer(value: Json | undefined, text: string): Json | undefined {
  if (text === '') return value
  const path = splitPointer(text)
  return path === undefined ? undefined : readPath(value, path)
}

/** The same for the keys of a pointer that was split before. */
export function readPath(value: Json | undefined, path: readonly string[]): Json | undefined {
  let at = value
  for (const segment of path) {
    if (typeof at !== 'object' || at === null) return undefined
    if (Array.isArray(at) && !/^(?:0|[1-9]\d*)$/.test(segment)) return undefined
    if (!Object.hasOwn(at, segment)) return undefined
    at = (at as Record<string, Json>)[segment]
  }
  return at
}
