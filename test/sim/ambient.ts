// While a seed runs, everything that would let the machine's own time, chance, disk or network in throws.
// A run that reads any of it could not be repeated.
import crypto from 'node:crypto'
import dns from 'node:dns'
import dnsPromises from 'node:dns/promises'
import fsPromises from 'node:fs/promises'
import http from 'node:http'
import https from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'

/** Saved before anything is forbidden: how the simulator itself lets microtasks run out. */
const immediate = globalThis.setImmediate

/**
 * Resolves when no microtask and no nextTick is left. Node empties both queues completely, those that were added
 * meanwhile included, before the event loop gets to its immediates; so one turn is enough for promise chains of any
 * length, for synchronous calls such as node:sqlite's, and for `import()` of a module that is loaded already. It is
 * not enough for what comes back from another thread: that is what is forbidden below.
 */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    immediate(resolve)
  })
}

type Holder = Record<string, unknown>

interface Forbidden {
  readonly name: string
  readonly holder: object
  /** Every function of it where none are named. */
  readonly only?: readonly string[]
}

const TIMERS = ['setTimeout', 'setInterval', 'setImmediate']
const RANDOM = ['randomUUID', 'randomBytes', 'randomInt', 'randomFill', 'randomFillSync']
const wasm = (globalThis as unknown as { readonly WebAssembly: object }).WebAssembly

const FORBIDDEN: readonly Forbidden[] = [
  { name: 'globalThis', holder: globalThis, only: [...TIMERS, 'fetch', 'WebSocket', 'EventSource'] },
  { name: 'node:timers', holder: timers, only: TIMERS },
  { name: 'node:timers/promises', holder: timersPromises },
  { name: 'performance', holder: performance, only: ['now'] },
  { name: 'process', holder: process, only: ['hrtime', 'uptime'] },
  { name: 'Math', holder: Math, only: ['random'] },
  { name: 'AbortSignal', holder: AbortSignal, only: ['timeout'] },
  { name: 'WebAssembly', holder: wasm, only: ['compile', 'instantiate'] },
  { name: 'node:crypto', holder: crypto, only: RANDOM },
  { name: 'crypto', holder: globalThis.crypto, only: ['randomUUID', 'getRandomValues'] },
  // Each of its methods, not the object: Node itself reads that one when it refreshes the exports of node:crypto.
  {
    name: 'crypto.subtle',
    holder: globalThis.crypto.subtle,
    only: Object.getOwnPropertyNames(SubtleCrypto.prototype).filter((name) => name !== 'constructor'),
  },
  { name: 'node:fs/promises', holder: fsPromises },
  { name: 'node:dns', holder: dns, only: ['lookup', 'resolve', 'resolve4', 'resolve6'] },
  { name: 'node:dns/promises', holder: dnsPromises },
  { name: 'node:net', holder: net, only: ['connect', 'createConnection'] },
  { name: 'node:http', holder: http, only: ['request', 'get'] },
  { name: 'node:https', holder: https, only: ['request', 'get'] },
]

/** Forbids all of it; gives back how to allow it again. */
export function forbidAmbient(): () => void {
  const undo: (() => void)[] = []
  for (const { name, holder, only } of FORBIDDEN) {
    const names = only ?? Object.keys(holder).filter((key) => typeof (holder as Holder)[key] === 'function')
    for (const key of names) {
      replace(holder, key, refusal(`${name}.${key}()`), undo)
    }
  }
  replace(globalThis, 'Date', forbiddenDate(), undo)
  syncBuiltinESMExports()
  return () => {
    for (const one of undo.reverse()) one()
    syncBuiltinESMExports()
  }
}

function replace(holder: object, key: string, value: unknown, undo: (() => void)[]): void {
  const own = Object.getOwnPropertyDescriptor(holder, key)
  const enumerable = own?.enumerable ?? false
  Object.defineProperty(holder, key, { value, writable: true, configurable: true, enumerable })
  undo.push(() => {
    if (own === undefined) delete (holder as Holder)[key]
    else Object.defineProperty(holder, key, own)
  })
}

function refusal(what: string): () => never {
  return () => {
    throw new AmbientUse(what)
  }
}

/** Dates can be made of numbers and read from text; what time it is, they do not say. */
function forbiddenDate(): DateConstructor {
  return new Proxy(Date, {
    construct(target, args) {
      if (args.length === 0) throw new AmbientUse('new Date()')
      return Reflect.construct(target, args) as Date
    },
    apply: refusal('Date()'),
    get: (target, key) => (key === 'now' ? refusal('Date.now()') : Reflect.get(target, key)),
  })
}

export class AmbientUse extends Error {
  override readonly name = 'AmbientUse'

  constructor(what: string) {
    super(`${what} was used while a seed runs: take it from the World`)
  }
}
