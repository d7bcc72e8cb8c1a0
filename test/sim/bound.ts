// By when each call must be answered: its own deadline, or the longest that its execution may take, and a grace.
import type { Clients } from './client.ts'
import type { SimCall } from './history.ts'
import { EPSILON, type Facts } from './invariant.ts'
import { nameOfCall } from './ledger-rules.ts'
import type { Life } from './life.ts'
import { timeoutOf } from './send-rules.ts'
import type { SimTool } from './sim-tool.ts'

/** A caller with a deadline is told this long after it that its call still runs, however long the disk takes. */
export const ANSWER_GRACE_MS = 500
const RUNNING = { state: 'running' } as const
/** A call that may wait for others in turn, each for its whole time. */
const PATIENCE_MS = 600_000

export class Bounds {
  readonly #facts: Facts
  readonly #clients: () => Clients

  constructor(facts: Facts, clients: () => Clients) {
    this.#facts = facts
    this.#clients = clients
  }

  onStart(call: SimCall): void {
    const { agenda, diskMs } = this.#facts
    const { record, life } = call
    // Who was told that its call runs did not wait for the end of it.
    const { shared } = this.#facts
    const alone =
      !shared &&
      // Once people have agreed, what waited runs beside whoever asks again.
      record.tool.approval === undefined &&
      !record.interrupted &&
      !record.calls.some((other) => other !== call && other.life === life && isUnderWay(other))
    // People take their time.
    const people = call.ask.throughApproval === true
    const longest = alone && !people ? longestRun(call, record.tool) : PATIENCE_MS
    const end = Math.min(call.deadline, agenda.now + longest)
    // Its intent may wait for the disk, and so may its outcome.
    const grace = shared || people || record.tool.query !== undefined ? ANSWER_GRACE_MS : 0
    this.#set(call, Math.max(end, agenda.now + diskMs) + diskMs + grace)
  }

  onCancel(call: SimCall): void {
    const { agenda, diskMs, shared } = this.#facts
    // Where it waits for another replica, that one has to hear of it first.
    if (shared || call.record.tool.query !== undefined) return
    this.#set(call, Math.min(call.bound, Math.max(agenda.now, call.startedAt + diskMs) + diskMs))
  }

  /** It was held until now. */
  onResume(life: Life): void {
    const { agenda, diskMs } = this.#facts
    for (const call of this.#waitingIn(life)) this.#set(call, Math.max(call.bound, agenda.now) + 2 * diskMs)
  }

  onStall(life: Life): void {
    for (const call of this.#waitingIn(life)) this.#set(call, call.bound)
  }

  /** While the disk stands still, who has a deadline is told so after a grace, and who has none waits for it. */
  #set(call: SimCall, bound: number): void {
    const { agenda, diskMs } = this.#facts
    const { life, record } = call
    call.bound = bound
    if (life.stalledUntil > agenda.now) {
      const grace = Math.max(call.deadline, agenda.now) + ANSWER_GRACE_MS
      const waited = life.stalledUntil + longestRun(call, record.tool) + 2 * diskMs
      call.bound = Math.max(bound, Math.min(grace, waited))
    }
    this.#watch(call)
  }

  #waitingIn(life: Life): SimCall[] {
    return [...this.#clients().waiting].filter((call) => call.life === life && Number.isFinite(call.bound))
  }

  #watch(call: SimCall): void {
    const { agenda, fail } = this.#facts
    const { bound, life } = call
    agenda.after(bound - agenda.now + 2 * EPSILON, undefined, `${call.name} is due`, () => {
      if (call.answer !== undefined || life.dead || life.held !== undefined || call.bound > agenda.now) return
      fail('deadline', `${nameOfCall(call)} has no answer; it was due at ${bound}`)
    })
  }
}

/** Also one whose intent came too late: it is still being closed. */
function isUnderWay({ answer }: SimCall): boolean {
  return (answer ?? RUNNING).state === 'running' || answer?.failure?.id === 'intent-not-recorded'
}

/** S9: attempts x timeout + backoffs, and no longer than the tool allows. */
function longestRun(call: SimCall, tool: SimTool): number {
  let total = tool.maxAttempts * timeoutOf(call, tool)
  for (let attempt = 1; attempt < tool.maxAttempts; attempt++) {
    total += Math.min(tool.maxBackoffMs, tool.backoffMs * 2 ** (attempt - 1))
  }
  return Math.min(total, tool.timeoutMaxMs ?? Number.POSITIVE_INFINITY)
}
