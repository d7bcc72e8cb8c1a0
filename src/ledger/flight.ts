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

export interface Flight<R> {
  /** What the owner means to run; compared with what others ask for under the same key. */
  readonly entry: Entry
  /** Whether anybody but the owner waits. */
  readonly shared: boolean
  join(joiner: Joiner): Promise<JoinResult<R>>
  /** A joiner that became the owner runs its own payload. */
  take(entry: Entry): void
  land(result: R): void
  release(): void
  /** The outcome is in the store: the flight is no longer needed to find it. */
  forget(): void
}

export interface Flights<R> {
  find(scope: string, key: string): Flight<R> | undefined
  /** The caller has just seen that there is none. */
  reserve(entry: Entry): Flight<R>
  readonly size: number
}

interface Waiting<R> extends Joiner {
  readonly settle: (result: JoinResult<R>) => void
}

export function createFlights<R>(world: World): Flights<R> {
  const flights = new Map<string, Flight<R>>()
  const at = (scope: string, key: string) => `${scope}\n${key}`

  return {
    find: (scope, key) => flights.get(at(scope, key)),

    reserve(reserved) {
      const waiting = new Set<Waiting<R>>()
      const id = at(reserved.scope, reserved.key)
      let entry = reserved
      let landed: R | undefined
      const flight: Flight<R> = {
        get entry() {
          return entry
        },
        take(next) {
          entry = next
        },
        get shared() {
          return waiting.size > 0
        },
        join: (joiner) =>
          landed !== undefined
            ? Promise.resolve({ kind: 'landed', result: landed })
            : waitFor(world, waiting, joiner),
        land(result) {
          landed = result
          for (const one of [...waiting]) one.settle({ kind: 'landed', result })
        },
        release() {
          const next = longest(waiting)
          if (next === undefined) flights.delete(id)
          else next.settle({ kind: 'owner' })
        },
        forget() {
          if (flights.get(id) === flight) flights.delete(id)
        },
      }
      flights.set(id, flight)
      return flight
    },

    get size() {
      return flights.size
    },
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
