// A call under way in this process: what its caller can hold on to.
import type { Answer } from '../contract/answer.ts'
import type { CallRecord } from '../contract/call.ts'
import { isReadOnly } from '../contract/effect.ts'
import { EVERYWHERE, guardsOf, type Stop, stopsGuard } from '../contract/stop.ts'
import { guarded } from '../event/event.ts'
import type { AbortReason } from '../util/abort.ts'
import { answerOf, runningRecord } from './answer.ts'
import { awaitDecision } from './await-decision.ts'
import type { Kit } from './kit.ts'
import { runningResult } from './result.ts'
import { runCall } from './run-call.ts'
import type { CallFact, Claimed, FactSink, Received } from './stages.ts'

/** How long past its deadline a caller waits for an outcome that is being written down. */
const GRACE_MS = 500

export interface AnswerOptions {
  readonly waitMs?: number
  readonly throughApproval?: boolean
}

export class LiveCall {
  readonly #received: Received
  readonly #kit: Kit
  #listeners: Set<(fact: CallFact) => void> | undefined
  #over = false
  /** Settles when the call is over. */
  readonly done: Promise<Answer>

  /** `onOver` hears of the end before whoever waits for the answer. */
  constructor(make: (onFact: FactSink) => Received, kit: Kit, onOver: (call: LiveCall) => void) {
    this.#kit = kit
    this.#received = make((fact) => {
      if (this.#listeners) for (const listener of this.#listeners) guarded(() => listener(fact))
    })
    this.done = runCall(this.#received, kit).then((answer) => {
      this.#over = true
      onOver(this)
      return answer
    })
  }

  get id(): string {
    return this.#received.call.id
  }

  /** The entry it works on or waits for, once that is known. */
  get entryId(): string | undefined {
    return this.#received.held.entryId
  }

  /** Whether it runs its entry itself, and does not only wait for it. */
  get owns(): boolean {
    return this.#received.held.flight !== undefined
  }

  get namespace(): string {
    return this.#received.caller.namespace
  }

  get actor(): string {
    return this.#received.caller.actor
  }

  /** Whether a stop is about it. */
  isStoppedBy(stop: Stop): boolean {
    const { caller, call } = this.#received
    if (stop.namespace !== EVERYWHERE && stop.namespace !== caller.namespace) return false
    const now = this.#kit.world.clock.now()
    return guardsOf(caller, call.tool, call.agent).some((guard) => stopsGuard(stop, guard, now))
  }

  /** The answer; after `waitMs`, what is known by then. `throughApproval` waits for people, too, for as long. */
  async answer({ waitMs, throughApproval }: AnswerOptions = {}): Promise<Answer> {
    const { clock } = this.#kit.world
    // Execution ends at the deadline; its outcome may still wait for a slow disk. The caller does not (S9).
    const left = this.#received.listensUntil - clock.monotonic() + GRACE_MS
    const until = clock.monotonic() + Math.min(waitMs ?? Number.POSITIVE_INFINITY, left)
    const answer = await this.#answerBy(until)
    if (answer.state === 'running' && this.#received.held.detached) {
      return awaitDecision(this.#received, answer, until - clock.monotonic(), this.#kit)
    }
    if (answer.state !== 'awaiting-approval' || throughApproval !== true) return answer
    return awaitDecision(this.#received, answer, until - clock.monotonic(), this.#kit)
  }

  #answerBy(until: number): Promise<Answer> {
    if (until === Number.POSITIVE_INFINITY) return this.done
    return new Promise((resolve, reject) => {
      const waitMs = Math.max(0, until - this.#kit.world.clock.monotonic())
      const timer = this.#kit.world.after(waitMs, () => resolve(this.#running()))
      this.done.then(resolve, reject).finally(() => timer.cancel())
    })
  }

  async accepted(): Promise<void> {
    const { call, held } = this.#received
    if (call.dryRun) return
    // Whoever finds this record after a crash must know which entry to look at: this call may only have joined it.
    if (!this.#over && held.entryId === undefined) {
      const known = new Promise<void>((resolve) => {
        held.onEntry = resolve
      })
      await Promise.race([known, this.done])
    }
    if (this.#over) await this.#kit.ledger.flush()
    else await this.#kit.ledger.accept(this.record())
  }

  cancel(): void {
    this.abort('canceled')
  }

  abort(reason: AbortReason): void {
    const { abort, held } = this.#received
    // The call has left memory; what it asked for has not ended.
    if (reason === 'canceled' && held.detached && held.entryId !== undefined) {
      this.#kit.accepted?.cancel(held.entryId)
    } else abort.abort(reason)
  }

  /** S11: ends only an unshared read-only call. */
  hangUp(): void {
    const { operation, flight } = this.#received as Partial<Claimed>
    const alone = flight === undefined || !flight.shared
    if (operation !== undefined && isReadOnly(operation.effect) && alone) this.abort('hang-up')
  }

  onFact(listener: (fact: CallFact) => void): () => void {
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
    return () => this.#listeners?.delete(listener)
  }

  /** How it is shown while it runs. */
  record(): CallRecord {
    return runningRecord(this.#received, this.#kit)
  }

  #running(): Answer {
    return answerOf(this.#received, runningResult(this.#received), this.#kit)
  }
}
