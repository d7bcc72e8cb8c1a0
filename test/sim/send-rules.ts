// What must be true whenever something leaves the process, and whenever a tool does something.
import type { Run, Send, SimCall } from './history.ts'
import { EPSILON, type Facts } from './invariant.ts'
import type { Life } from './life.ts'
import type { SimTool } from './sim-tool.ts'

export class SendRules {
  readonly #facts: Facts
  /** Requests that are not over, by life: the whole of what a tool can see at once. */
  readonly #open = new Map<Life, Set<Send>>()
  /** When each call of a life was first sent to a tool. */
  readonly #first = new Map<Life, Send[]>()
  readonly #keys = new Map<string, Send>()

  constructor(facts: Facts) {
    this.#facts = facts
  }

  onDispatch(send: Send): void {
    const { fail, agenda } = this.#facts
    const { life, call } = send
    const what = describe(send)
    if (life.failedAt !== undefined) fail('failed-flush', `${what} was sent after a flush had failed`)
    if (call.canceledAt !== undefined) fail('cancel', `${what} was sent after ${call.name} was canceled`)
    if (agenda.now > call.deadline - EPSILON) fail('deadline', `${what} was sent after the deadline`)
    this.#checkRate(send)
    this.#checkKey(send)
    this.#checkAttempt(send)
    const before = call.sends.at(-2)
    if (before?.retryAfterMs !== undefined && before.endedAt !== undefined) {
      const waited = agenda.now - before.endedAt
      if (waited < before.retryAfterMs - EPSILON) {
        fail('backoff', `${what} came ${waited} ms after a reply that asked for ${before.retryAfterMs} ms`)
      }
    }
  }

  /** The first byte leaves in this very tick; what a tool can see of a process begins here. */
  onSent(send: Send): void {
    const { fail, ledger } = this.#facts
    const { call, life, tool } = send
    const what = describe(send)
    const open = this.#openOf(life)
    if ([...open].some((other) => other.call.record === call.record)) {
      fail('one-flight', `${what} left while another send of its key was under way`)
    }
    open.add(send)
    const running = [...open].filter((other) => other.tool === tool).length
    if (tool.concurrency !== undefined && running > tool.concurrency) {
      fail('limit', `${what} is one of ${running} at once; the limit is ${tool.concurrency}`)
    }
    if (call.canceledAt !== undefined) fail('cancel', `${what} left after ${call.name} was canceled`)
    if (tool.kind === 'read') return
    const entry = ledger.entryOfCall(call.id)
    if (entry?.state !== 'intended' || entry.epoch !== life.world.epoch) {
      fail('intent-first', `${what} leaves; on disk is ${entry?.state ?? 'nothing'}`)
    }
    if (call.record.interrupted) fail('recovery', `${what}: its key was left open by a crash before`)
  }

  onEnd(send: Send): void {
    const { agenda, fail } = this.#facts
    this.#openOf(send.life).delete(send)
    // One that still waited for its connection cannot be taken back: it is stopped when it would start.
    if (send.startedAt === undefined) return
    const timeoutMs = timeoutOf(send.call, send.tool)
    const took = agenda.now - send.dispatchedAt
    if (took > timeoutMs + EPSILON && send.life.disturbedAt < send.dispatchedAt) {
      fail('deadline', `${describe(send)} took ${took} ms of ${timeoutMs} ms`)
    }
  }

  onRun(run: Run): void {
    const { fail, history } = this.#facts
    const { send } = run
    const { record, ask } = send.call
    if (send.tool.kind === 'read') return
    if (send.attempt <= record.notDoneUpTo) {
      fail('truth', `${describe(send)} was executed; it had been told that nothing was or would be done`)
    }
    if (!run.changed) return
    const changes = record.runs.filter((one) => one.changed)
    if (changes.length > 1) fail('effect-once', `${describe(send)} is effect ${changes.length} of its key`)
    if (send.tool.onRepeat === undefined) return
    const same = history.changesOfIdentity(send.tool, ask.input.item)
    if (same.length > 1) fail('identity', `${describe(send)} is effect ${same.length} of its identity`)
  }

  #checkRate(send: Send): void {
    const { agenda, fail, diskMs } = this.#facts
    const { tool, life, call } = send
    if (tool.rate === undefined || call.sends.length > 1) return
    // Calls are counted when they are admitted; until it is sent a write waits for its intent. What was held up by a
    // pause or a disk that stood still may come all at once.
    if (agenda.now <= life.disturbedAt + diskMs) return
    const first = this.#first.get(life) ?? []
    this.#first.set(life, first)
    first.push(send)
    const since = agenda.now - (tool.rate.perMs - diskMs)
    const lately = first.filter((one) => one.tool === tool && one.dispatchedAt > since).length
    if (lately > tool.rate.max) {
      fail(
        'limit',
        `${describe(send)} is one of ${lately} in ${tool.rate.perMs} ms; the limit is ${tool.rate.max}`,
      )
    }
  }

  #checkKey(send: Send): void {
    const { fail } = this.#facts
    const { record } = send.call
    const owner = this.#keys.get(send.key)
    this.#keys.set(send.key, owner ?? send)
    if (owner !== undefined && owner.call.record !== record) {
      fail('key', `${describe(send)} has the key of ${describe(owner)}`)
    }
    if (send.key === '' || send.key.includes(record.key)) {
      fail('key', `${describe(send)} gives the tool '${send.key}'`)
    }
    record.toolKey ??= send.key
    if (record.toolKey !== send.key) fail('key', `${describe(send)} has another key than the send before it`)
    const [first] = record.sends
    if (first === undefined || send.tool.kind === 'read') return
    if (first.body !== send.body)
      fail('payload', `${describe(send)} sends ${send.body}, the first was ${first.body}`)
    if (first.path !== send.path)
      fail('payload', `${describe(send)} goes to ${send.path}, the first to ${first.path}`)
  }

  /** Numbers continue over all calls of an entry (S16); a read that failed leaves no entry behind. */
  #checkAttempt(send: Send): void {
    const { call, tool } = send
    const sends = tool.kind === 'read' ? call.sends : call.record.sends
    const before = sends.filter((one) => one.startedAt !== undefined).length
    if (send.attempt !== before + 1) {
      this.#facts.fail('truth', `${describe(send)} has the wrong number: ${before} were sent before it`)
    }
  }

  #openOf(life: Life): Set<Send> {
    const open = this.#open.get(life) ?? new Set()
    this.#open.set(life, open)
    return open
  }
}

/** It left, and no reply says for certain that nothing was done. */
export function isInDoubt({ startedAt, learned }: Send): boolean {
  return startedAt !== undefined && learned !== 'nothing-done'
}

/** How long one attempt of a call may take. */
export function timeoutOf(call: SimCall, tool: SimTool): number {
  return Math.min(call.ask.timeoutMs ?? tool.timeoutMs, tool.timeoutMs)
}

export function describe(send: Send): string {
  return `send ${send.number} (${send.call.name}, ${send.tool.name}, attempt ${send.attempt})`
}
