// Equal refusals of one caller within a second share a counted record (S40): a loop of an agent does not fill the chain.
//
// The first one is on record like any other. Those that follow within a second are counted, and one more record says how
// many they were. Every call of them is still kept as a call.
import type { Fact, Ledger } from '../ledger/ledger.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import type { JsonObject } from '../util/json.ts'
import type { Timer, World } from '../util/world.ts'

export interface Refusals {
  /** What goes on record with this refusal: the fact, or nothing when it is only counted. */
  count(namespace: string, callId: string, fact: Fact): readonly Fact[]
  /** Writes what was counted and not written yet. */
  stop(): void
}

const WINDOW_MS = 1_000
/** Different refusals that are counted at a time; past that each is on record for itself. */
const MAX_WINDOWS = 10_000

interface Window {
  readonly namespace: string
  readonly callId: string
  readonly fact: Fact
  readonly timer: Timer
  more: number
}

export function createRefusals(world: World, ledger: Pick<Ledger, 'noteFact'>): Refusals {
  const windows = new Map<string, Window>()

  function close(key: string): void {
    const window = windows.get(key)
    if (window === undefined) return
    windows.delete(key)
    window.timer.cancel()
    if (window.more === 0) return
    const { namespace, callId, fact } = window
    const body: JsonObject = { ...fact.body, count: window.more, first_call_id: callId }
    ledger.noteFact(namespace, callId, { type: 'request.refused.repeated', body }).catch(onlyUnavailable)
  }

  return {
    count(namespace, callId, fact) {
      const key = JSON.stringify([namespace, fact.type, fact.body])
      const open = windows.get(key)
      if (open !== undefined) {
        open.more++
        return []
      }
      if (windows.size < MAX_WINDOWS) {
        const timer = world.after(WINDOW_MS, () => close(key))
        windows.set(key, { namespace, callId, fact, timer, more: 0 })
      }
      return [fact]
    },
    stop() {
      for (const key of [...windows.keys()]) close(key)
    },
  }
}
