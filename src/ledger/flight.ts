// Keys that are being worked on in this process: who owns each, and who waits for it.
//
// A flight is reserved at claim and lives until its outcome can be read from the store. It ends in one of two ways:
// `land` gives every joiner the result; `release` means that the key remembers nothing (S16), and the joiner with the
// most time left becomes the owner and runs the call itself (S10).
import type { Entry } from '../contract/entry.ts'
import type { Abort } from '../util/abort.ts'
import type { World } from '../util/world.ts'

export interface Joiner {
  readonly callId: string
  /** Monotonic time until which it listens. */
  readonly until: number
  readonly abort: Abort
}

export type JoinResult<R> =
  | { readonly kind: 'landed'; readonly result: R }
  /** The joiner is now the owner of the flight. */
  | { readonly kind: 'owner' }
  | { readonly kind: 'left'; readonly why: 'time' | 'canceled' }

export interface Flights<R> {
  find(scope: string, key: string): Flight<R> | undefined
  /** The caller has just seen that there is none. */
  reserve(entry: Entry): Flight<R>
  /** A flight that nobody can find or join. */
  hidden(entry: Entry): Flight<R>
  /** Whether somebody works on this entry. */
  isWorking(entryId: string): boolean
  readonly size: number
}

export function createFlights<R>(world: World): Flights<R> {
  const flights = new Map<string, Flight<R>>()
  return {
    find: (scope, key) => flights.get(idOf(scope, key)),
    reserve(entry) {
      const flight = new Flight<R>(entry, world, flights)
      flights.set(idOf(entry.scope, entry.key), flight)
      return flight
    },
    isWorking: (entryId) => flights.values().some((flight) => flight.entry.id === entryId),
    hidden: (entry) => new Flight<R>(entry, world, flights),
    get size() {
      return flights.size
    },
  }
}

/** A scope is JSON text and ends in a bracket, so no key can make two of these meet. */
function idOf(scope: string, key: string): string {
  return scope + key
}

interface Waiting<R> extends Joiner {
  readonly settle: (result: JoinResult<R>) => void
}

export class Flight<R> {
  readonly #world: World
  readonly #flights: Map<string, Flight<R>>
  #entry: Entry
  #waiting: Set<Waiting<R>> | undefined
  #landed: { readonly result: R } | undefined
  #whenOver: (() => void)[] = []
  #over = false

  constructor(entry: Entry, world: World, flights: Map<string, Flight<R>>) {
    this.#entry = entry
    this.#world = world
    this.#flights = flights
  }

  /** What the owner means to run; compared with what others ask for under the same key. */
  get entry(): Entry {
    return this.#entry
  }

  /** Whether anybody but the owner waits. */
  get shared(): boolean {
    return this.#waiting !== undefined && this.#waiting.size > 0
  }

  join(joiner: Joiner): Promise<JoinResult<R>> {
    if (this.#landed !== undefined) return Promise.resolve({ kind: 'landed', result: this.#landed.result })
    this.#waiting ??= new Set()
    return waitFor(this.#world, this.#waiting, joiner)
  }

  /** A joiner that became the owner runs its own payload. */
  take(entry: Entry): void {
    this.#entry = entry
  }

  land(result: R): void {
    this.#landed = { result }
    if (this.#waiting) for (const one of [...this.#waiting]) one.settle({ kind: 'landed', result })
  }

  release(): void {
    const next = this.#waiting && longest(this.#waiting)
    if (next === undefined) this.forget()
    else next.settle({ kind: 'owner' })
  }

  /** The outcome is in the store, or there is none: the flight is no longer needed to find it. */
  forget(): void {
    const id = idOf(this.#entry.scope, this.#entry.key)
    if (this.#flights.get(id) === this) this.#flights.delete(id)
    this.#over = true
    for (const run of this.#whenOver.splice(0)) run()
  }

  /** Called once nobody works on it any more, whatever came of it. */
  whenOver(run: () => void): void {
    if (this.#over) run()
    else this.#whenOver.push(run)
  }
}

function waitFor<R>(world: World, waiting: Set<Waiting<R>>, joiner: Joiner): Promise<JoinResult<R>> {
  return new Promise((resolve) => {
    const one: Waiting<R> = {
      ...joiner,
      settle(result) {
        if (!waiting.delete(one)) return
        timer?.cancel()
        unlisten()
        resolve(result)
      },
    }
    waiting.add(one)
    const left = joiner.until - world.clock.monotonic()
    const timer = Number.isFinite(left)
      ? world.after(Math.max(0, left), () => one.settle({ kind: 'left', why: 'time' }))
      : undefined
    const unlisten = joiner.abort.listen(() =>
      world.soon(() => one.settle({ kind: 'left', why: 'canceled' })),
    )
  })
}

function longest<R>(waiting: ReadonlySet<Waiting<R>>): Waiting<R> | undefined {
  let best: Waiting<R> | undefined
  for (const one of waiting) if (best === undefined || one.until > best.until) best = one
  return best
}
