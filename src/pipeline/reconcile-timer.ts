// The row that has an unknown effect looked into: when, and what is known so far.
//
// Its data counts the time that has passed by the monotonic clock of the process that set it; what another process finds
// counts only from then on. So a `not_done` is never believed too early, whatever is done to wall clocks.
import type { TimerChange } from '../store/store.ts'
import type { JsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'

export interface ReconcileData {
  /** For how long at least the effect has been looked into. */
  readonly waitedMs: number
  /** How long must have been waited before a `not_done` counts. */
  readonly quietMs: number
  readonly asks: number
  /** The process that sent it is gone: where a repeat is harmless, it is sent again. */
  readonly resend: boolean
}

const FIRST_ASK_MS = 1_000
const LONGEST_WAIT_MS = 60_000

export function reconcileTimer(
  entryId: string,
  quietMs: number,
  world: World,
  options: { readonly resend?: boolean; readonly inMs?: number } = {},
): TimerChange {
  const { resend = false, inMs = FIRST_ASK_MS } = options
  const data = { waitedMs: 0, quietMs: Math.ceil(quietMs), asks: 0, resend }
  return { kind: 'reconcile', subject: entryId, inMs, data: writeReconcile(data, world) }
}

function writeReconcile({ waitedMs, quietMs, asks, resend }: ReconcileData, world: World): JsonObject {
  const since = world.clock.monotonic()
  return { waited_ms: waitedMs, quiet_ms: quietMs, asks, resend, epoch: world.epoch, since }
}

export function readReconcile(data: JsonObject, world: World): ReconcileData {
  const number = (value: unknown) => (typeof value === 'number' ? value : 0)
  const ownMs = data.epoch === world.epoch ? world.clock.monotonic() - number(data.since) : 0
  return {
    waitedMs: number(data.waited_ms) + Math.max(0, ownMs),
    quietMs: number(data.quiet_ms),
    asks: number(data.asks),
    resend: data.resend === true,
  }
}

/** The next look: twice as long after each, up to a minute; and right when the quiet time is over. */
export function nextReconcile(
  data: ReconcileData,
  world: World,
): { readonly inMs: number; readonly data: JsonObject } {
  const grown = Math.min(FIRST_ASK_MS * 2 ** Math.min(data.asks, 10), LONGEST_WAIT_MS)
  const quietLeft = Math.ceil(data.quietMs - data.waitedMs)
  const inMs = quietLeft > 0 ? Math.min(grown, quietLeft) : grown
  return { inMs, data: writeReconcile({ ...data, asks: data.asks + 1 }, world) }
}
