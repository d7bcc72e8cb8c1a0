// What must be true whenever something leaves the process, and whenever a tool does something.
import { effectsOf, type KeyRecord, type Run, type Send, type SimCall } from './history.ts'
import { EPSILON, type Facts } from './invariant.ts'
import { BEGIN, type Life } from './life.ts'
import type { OwnershipRules } from './ownership-rules.ts'
import { LEASE_MS } from './plan.ts'
import { quietOf, type SimTool } from './sim-tool.ts'

export class SendRules {
  readonly #facts: Facts
  readonly #owners: OwnershipRules
  /** Requests that are not over, by life: the whole of what a tool can see at once. */
  readonly #open = new Map<Life, Set<Send>>()
  /** When each call of a life was first sent to a tool. */
  readonly #first = new Map<Life, Send[]>()
  readonly #keys = new Map<string, Send>()

  constructor(facts: Facts, owners: OwnershipRules) {
    this.#facts = facts
    this.#owners = owners
  }

  onDispatch(send: Send): void {
    const { fail, agenda } = this.#facts
    const { life, call } = send
    const what = describe(send)
    if (life.failedAt !== undefined) fail('failed-flush', `${what} was sent after a flush had failed`)
    this.#checkKey(send)
    if (send.kind !== 'call') {
      this.#checkErrand(send)
      return
    }
    // What was left by another life, or undoes something, is not sent for somebody who waits.
    if (isOwn(send)) {
      if (call.canceledAt !== undefined) fail('cancel', `${what} was sent after ${call.name} was canceled`)
      if (agenda.now > call.deadline - EPSILON) fail('deadline', `${what} was sent after the deadline`)
    }
    this.#checkRate(send)
    this.#checkAttempt(send)
    const before = isOwn(send) ? call.sends.at(-2) : undefined
    if (before?.retryAfterMs !== undefined && before.endedAt !== undefined && before.life === life) {
      const waited = agenda.now - before.endedAt
      if (waited < before.retryAfterMs - EPSILON) {
        fail('backoff', `${what} came ${waited} ms after a reply that asked for ${before.retryAfterMs} ms`)
      }
    }
  }

  /** The first byte leaves in this very tick; what a tool can see of a process begins here. */
  onSent(send: Send): void {
    const { fail, ledger } = this.#facts
    const { call, life, tool, record } = send
    const what = describe(send)
    this.#checkLease(send)
    const open = this.#openOf(life)
    open.add(send)
    if (send.kind !== 'call') {
      const entry = ledger.entryOfCalls(record.calls)
      const needed = { commit: 'committing', rollback: 'rolling-back', status: undefined }[send.kind]
      if (needed !== undefined && entry?.state !== needed) {
        fail('two-phase', `${what} leaves; on disk is ${entry?.state ?? 'nothing'}`)
      }
      return
    }
    const all = this.#alive()
    // Replicas join reads in memory, each its own (S20).
    const joined = all.filter((other) => tool.kind !== 'read' || other.life === life)
    if (joined.some((other) => other !== send && other.kind === 'call' && other.record === record)) {
      fail('one-flight', `${what} left while another send of its key was under way`)
    }
    const running = all.filter((other) => other.kind === 'call' && other.tool === tool).length
    if (tool.concurrency !== undefined && running > tool.concurrency) {
      fail('limit', `${what} is one of ${running} at once; the limit is ${tool.concurrency}`)
    }
    if (isOwn(send) && call.canceledAt !== undefined) {
      fail('cancel', `${what} left after ${call.name} was canceled`)
    }
    if (tool.kind === 'read') return
    this.#checkDoubt(send)
    if (record !== call.record) return
    const entry = ledger.entryOfCalls(record.calls)
    if (entry?.state !== 'intended' || entry.epoch !== life.world.epoch) {
      fail('intent-first', `${what} leaves; on disk is ${entry?.state ?? 'nothing'}`)
    }
    if (record.interrupted && isNever(tool) && !record.settledByHand) {
      fail('recovery', `${what}: its key was left open by a crash before`)
    }
  }

  /** S35: by the clock of the database, whatever the process thinks. */
  #checkLease(send: Send): void {
    const { fail, shared, agenda } = this.#facts
    if (!shared) return
    const { epoch } = send.life.world
    const left = this.#owners.leaseLeft(epoch, BEGIN + agenda.now)
    if (this.#owners.isEnded(epoch)) fail('lease', `${describe(send)} leaves a life that was ended`)
    else if (left < LEASE_MS / 3 - EPSILON)
      fail('lease', `${describe(send)} leaves with ${left} ms of the lease left`)
  }

  /** S22: after a send that may have had its effect the next one needs the tool's word, given late enough. */
  #checkDoubt(send: Send): void {
    const { record, tool } = send
    if (tool.query === undefined || tool.twoPhase === true || record.settledByHand) return
    const doubts = record.sends.filter((one) => one !== send && isInDoubt(one) && one.life !== undefined)
    for (const doubt of doubts) {
      const end = Math.min(doubt.dispatchedAt + timeoutOf(doubt.call, tool), doubt.call.deadline)
      const since = tool.query === 'fencing' ? (doubt.startedAt ?? 0) : end + quietOf(tool)
      const said = this.#facts.history.saidNotDone.some(
        (one) => one.send.record === record && one.send.dispatchedAt >= since - EPSILON,
      )
      if (!said) {
        this.#facts.fail('quiet', `${describe(send)}: nobody could know of send ${doubt.number} by then`)
        return
      }
    }
  }

  #checkErrand(send: Send): void {
    const { fail } = this.#facts
    if (send.kind !== 'commit') return
    const rolledBack = send.record.errands.find((one) => one.token === send.token && isRolledBack(one))
    if (rolledBack !== undefined) {
      fail('two-phase', `${describe(send)} was sent after send ${rolledBack.number} had rolled it back`)
    }
  }

  /** What is under way for lives that nobody has ended. A process that is gone does nothing more. */
  #alive(): Send[] {
    const all: Send[] = []
    for (const [life, open] of this.#open) {
      if (!life.dead && !this.#owners.isEnded(life.world.epoch)) all.push(...open)
    }
    return all
  }

  onEnd(send: Send): void {
    const { agenda, fail } = this.#facts
    this.#openOf(send.life).delete(send)
    // One that still waited for its connection cannot be taken back: it is stopped when it would start.
    if (send.startedAt === undefined || send.kind !== 'call') return
    const timeoutMs = send.record === send.call.record ? timeoutOf(send.call, send.tool) : send.tool.timeoutMs
    const took = agenda.now - send.dispatchedAt
    if (took > timeoutMs + EPSILON && send.life.disturbedAt < send.dispatchedAt) {
      fail('deadline', `${describe(send)} took ${took} ms of ${timeoutMs} ms`)
    }
  }

  onRun(run: Run): void {
    const { fail, history } = this.#facts
    const { send } = run
    const { record } = send
    if (send.tool.kind === 'read' || run.prepares) return
    if (send.attempt <= record.notDoneUpTo) {
      fail('truth', `${describe(send)} was executed; it had been told that nothing was or would be done`)
    }
    if (!run.changed) return
    const changes = effectsOf(record)
    if (changes.length > 1) fail('effect-once', `${describe(send)} is effect ${changes.length} of its key`)
    if (record.undoes !== undefined) this.#checkUndo(send, record)
    if (send.tool.onRepeat === undefined) return
    const same = history.changesOfIdentity(send.tool, send.call.ask.input.item)
    if (same.length > 1) fail('identity', `${describe(send)} is effect ${same.length} of its identity`)
  }

  #checkUndo(send: Send, record: KeyRecord): void {
    const { fail, history } = this.#facts
    const undone = record.undoes
    if (undone === undefined) return
    if (effectsOf(undone).length === 0) fail('undo', `${describe(send)} undoes what never happened`)
    if (!undone.undoAsked && !undone.calls.some((call) => call.ask.saga !== undefined)) {
      fail('undo', `${describe(send)} undoes what nobody wanted undone`)
    }
    const others = [...history.undos.values()].filter((one) => one.undoes === undone)
    const times = others.reduce((sum, one) => sum + effectsOf(one).length, 0)
    if (times > 1) fail('undo', `${describe(send)} undoes it for the ${times}th time`)
  }

  #checkRate(send: Send): void {
    const { agenda, fail, diskMs, shared } = this.#facts
    const { tool, life, call } = send
    if (tool.rate === undefined || call.sends.length > 1 || !isOwn(send)) return
    // Calls are counted when they are admitted; until it is sent a write waits for its intent. What was held up by a
    // pause or a disk that stood still may come all at once.
    if (agenda.now <= life.disturbedAt + diskMs) return
    const first = this.#first.get(life) ?? []
    this.#first.set(life, first)
    first.push(send)
    const since = agenda.now - (tool.rate.perMs - diskMs)
    // Over all replicas; alone, a new life knows nothing of the one before.
    const all = shared ? [...this.#first.values()].flat() : first
    const lately = all.filter((one) => one.tool === tool && one.dispatchedAt > since).length
    if (lately > tool.rate.max) {
      fail(
        'limit',
        `${describe(send)} is one of ${lately} in ${tool.rate.perMs} ms; the limit is ${tool.rate.max}`,
      )
    }
  }

  #checkKey(send: Send): void {
    const { fail } = this.#facts
    const { record } = send
    const owner = this.#keys.get(send.key)
    this.#keys.set(send.key, owner ?? send)
    if (owner !== undefined && owner.record !== record) {
      fail('key', `${describe(send)} has the key of ${describe(owner)}`)
    }
    if (send.key === '' || send.key.includes(record.key)) {
      fail('key', `${describe(send)} gives the tool '${send.key}'`)
    }
    record.toolKey ??= send.key
    if (record.toolKey !== send.key) fail('key', `${describe(send)} has another key than the send before it`)
    const [first] = record.sends
    if (first === undefined || send.tool.kind === 'read' || send.kind !== 'call') return
    if (first.body !== send.body)
      fail('payload', `${describe(send)} sends ${send.body}, the first was ${first.body}`)
    if (first.path !== send.path)
      fail('payload', `${describe(send)} goes to ${send.path}, the first to ${first.path}`)
  }

  /** Numbers continue over all calls of an entry (S16); a read that failed leaves no entry behind. */
  #checkAttempt(send: Send): void {
    const { call, tool } = send
    const sends = (tool.kind === 'read' ? call.sends : send.record.sends).filter((one) => one !== send)
    const before = sends.filter((one) => one.startedAt !== undefined).length
    // How many a crash has cut off nobody knows. Only to a tool that fences by the number does that make a difference.
    const repeats = sends.some((one) => one.startedAt !== undefined && one.attempt >= send.attempt)
    const cutOff = send.record.interrupted || send.record.undoes !== undefined
    const wrong = cutOff ? tool.query === 'fencing' && repeats : send.attempt !== before + 1
    if (wrong) {
      this.#facts.fail('truth', `${describe(send)} has the wrong number: ${before} were sent before it`)
    }
  }

  #openOf(life: Life): Set<Send> {
    const open = this.#open.get(life) ?? new Set()
    this.#open.set(life, open)
    return open
  }
}

/** Sent for somebody who waits for it in the same life. */
function isOwn(send: Send): boolean {
  return send.record === send.call.record && send.life === send.call.life && send.call.answer === undefined
}

/** Cannot be asked, and a repeat would be a second effect. */
export function isNever(tool: SimTool): boolean {
  return tool.kind === 'once' && tool.query === undefined && tool.twoPhase !== true
}

/** The tool has said, and the process heard, that nothing is held any more. */
export function isRolledBack({ kind, learned }: Send): boolean {
  return kind === 'rollback' && (learned === 'success' || learned === 'nothing-done')
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
  const what = send.kind === 'call' ? send.tool.name : `${send.kind} of ${send.tool.name}`
  return `send ${send.number} (${send.call.name}, ${what}, attempt ${send.attempt})`
}
