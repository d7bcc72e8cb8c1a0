// An effect is in question and its tool can be asked: within the time of the call, ask (S22, S27).
//
// What it says is believed as far as it goes: `done` settles. `not_done` only where the tool keeps later arrivals of this
// key out (fencing), or where none can arrive any more: the quiet time after the deadline of the last send has passed.
import { createFailure } from '../contract/projection.ts'
import { askStatus } from './ask.ts'
import type { Classified } from './classify.ts'
import type { Kit } from './kit.ts'
import { pause } from './pause.ts'
import type { Admitted } from './stages.ts'

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5_000
/** How long the last question may take. */
const LAST_ASK_MS = 1_000

/** `last` as it is, unless the tool has said more. `lastDeadline` is monotonic. */
export async function inquire(
  state: Admitted,
  last: Classified,
  lastDeadline: number,
  kit: Kit,
): Promise<Classified> {
  const query = state.operation.effect.statusQuery
  // Where a repeat is harmless, the next attempt finds out.
  if (query === undefined || state.operation.effect.repeat !== 'query') return last
  const quietUntil = lastDeadline + query.quietMs
  // Whoever still has no answer once the tool's `not_done` would count leaves the rest to the driver.
  const end = Math.min(state.deadline, quietUntil + LAST_ASK_MS)
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    if (state.abort.aborted || kit.world.clock.monotonic() >= end) return last
    const asked = kit.world.clock.monotonic()
    // The number of the last send: a tool that fences keeps out what was sent up to it.
    const entry = { ...state.entry, attempts: state.held.attempt }
    const said = await askStatus(entry, state.target, kit, state.abort, end - asked)
    if (said.kind === 'done') {
      if (!said.hasOutput) state.warnings.push(NO_OUTPUT)
      return { effect: 'done', output: said.output ?? null, sideEffects: last.sideEffects, asked: true }
    }
    // It must have been asked after the last stray send could arrive.
    if (said.kind === 'not-done' && (query.fencing || asked >= quietUntil)) return notDone(last)
    const until = Math.min(nextAsk(kit.world.clock.monotonic() + wait, quietUntil, asked), end)
    if (!(await pause(Math.max(0, until - kit.world.clock.monotonic()), state.abort, kit.world))) return last
  }
}

/** As soon as the quiet time is over it is worth asking again. */
function nextAsk(at: number, quietUntil: number, asked: number): number {
  return asked < quietUntil ? Math.min(at, quietUntil) : at
}

export const NO_OUTPUT = 'the tool says that it is done; what it returned is not known'

/** The same failure, with nothing in question any more: it may be sent again. */
function notDone(last: Classified): Classified {
  const { id, message, details } = last.failure ?? createFailure('outcome-unknown')
  const { transient: _, ...rest } = details
  return {
    effect: 'not-done',
    failure: createFailure(id, {
      message,
      details: { ...rest, settled_by: 'status-query' },
      said: { retryable: true, counts: true },
    }),
    sideEffects: [],
  }
}
