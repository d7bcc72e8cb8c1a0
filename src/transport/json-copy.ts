// A copy of a value as JSON, or the first place where it is none. Keeps what a handler holds apart from what is kept.
import { isJsonObject, type Json, type Violation } from '../util/json.ts'
import { pointer } from '../util/pointer.ts'
import { isReservedKey, reservedMessage, UNSAFE_INTEGER } from '../util/scan-json.ts'
import { MAX_JSON_DEPTH } from '../util/strict-json.ts'

type JsonCopy =
  | { readonly ok: true; readonly value: Json; readonly bytes: number }
  | { readonly ok: false; readonly reason: 'not-json'; readonly violation: Violation }
  | { readonly ok: false; readonly reason: 'too-large' }

/**
 * Copies what `JSON.stringify` would write, but refuses what it silently loses: NaN, functions, maps, class instances
 * without `toJSON`. Stops at the first fault and at the cap, so cycles and shared branches cost no more than the cap.
 */
export function copyAsJson(value: unknown, maxBytes: number): JsonCopy {
  const walk = new Walk(maxBytes)
  try {
    const copy = walk.copy(value, 0)
    return { ok: true, value: copy, bytes: maxBytes - walk.left }
  } catch (error) {
    if (error === TOO_LARGE) return { ok: false, reason: 'too-large' }
    // A getter or a `toJSON` of the value that throws ends here too.
    const message = error === REFUSED ? walk.message : 'cannot be read'
    return { ok: false, reason: 'not-json', violation: { path: walk.where(), message } }
  }
}

/** A copy of what is already known to be JSON. */
export function cloneJson(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (!isJsonObject(value)) return value.map(cloneJson)
  const copy: Record<string, Json> = {}
  for (const key of Object.keys(value)) copy[key] = cloneJson(value[key] as Json)
  return copy
}

// Thrown without a stack, because a fault deep inside must end the walk at once.
const TOO_LARGE = Symbol('too large')
const REFUSED = Symbol('refused')

/** Everything that is written as itself between its quotes. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/

class Walk {
  left: number
  message = ''
  readonly #path: (string | number)[] = []

  constructor(maxBytes: number) {
    this.left = maxBytes
  }

  copy(value: unknown, depth: number): Json {
    switch (typeof value) {
      case 'string':
        this.#spend(this.#sizeOf(value))
        return value
      case 'number':
        if (!Number.isFinite(value)) return this.#refuse(`is ${value}, which JSON cannot hold`)
        if (Number.isInteger(value) && !Number.isSafeInteger(value)) return this.#refuse(UNSAFE_INTEGER)
        this.#spend(`${value}`.length)
        // JSON has one zero.
        return value === 0 ? 0 : value
      case 'boolean':
        this.#spend(value ? 4 : 5)
        return value
      case 'undefined':
        this.#spend(4)
        return null
      case 'object':
        break
      default:
        return this.#refuse(`is a ${typeof value}, which JSON cannot hold`)
    }
    if (value === null) {
      this.#spend(4)
      return null
    }
    if (depth >= MAX_JSON_DEPTH)
      return this.#refuse(`is nested deeper than ${MAX_JSON_DEPTH} levels, or holds itself`)
    if (Array.isArray(value)) return this.#copyArray(value, depth)
    return this.#copyObject(value, depth)
  }

  where(): string {
    return pointer(this.#path)
  }

  #copyArray(value: readonly unknown[], depth: number): Json {
    this.#spend(2 + Math.max(0, value.length - 1))
    const copy: Json[] = []
    for (let index = 0; index < value.length; index++) {
      this.#path.push(index)
      copy.push(this.copy(value[index], depth + 1))
      this.#path.pop()
    }
    return copy
  }

  #copyObject(value: object, depth: number): Json {
    const toJson = (value as { toJSON?: unknown }).toJSON
    if (typeof toJson === 'function') return this.copy(toJson.call(value), depth + 1)
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== null)
      return this.#refuse(
        'is an instance of a class; return plain objects, arrays, strings, numbers, booleans or null',
      )
    const copy: Record<string, Json> = {}
    let empty = true
    for (const key of Object.keys(value)) {
      const member = (value as Record<string, unknown>)[key]
      if (member === undefined) continue
      this.#path.push(key)
      if (isReservedKey(key)) return this.#refuse(reservedMessage(key))
      // The brace or comma before it, the key, the colon after it.
      this.#spend(2 + this.#sizeOf(key))
      copy[key] = this.copy(member, depth + 1)
      this.#path.pop()
      empty = false
    }
    this.#spend(empty ? 2 : 1)
    return copy
  }

  #sizeOf(text: string): number {
    if (PLAIN_TEXT.test(text)) return text.length + 2
    if (!text.isWellFormed())
      return this.#refuse('holds half of a surrogate pair, which cannot be written as UTF-8')
    return Buffer.byteLength(JSON.stringify(text))
  }

  #spend(bytes: number): void {
    this.left -= bytes
    if (this.left < 0) throw TOO_LARGE
  }

  #refuse(message: string): never {
    this.message = message
    throw REFUSED
  }
}
