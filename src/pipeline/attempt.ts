// One send: bounded by its time, by cancel, and by a short grace in which the transport may still report.
import type { Accepted, AttemptSink, FinalReply, Reply, Send, Transport } from '../transport/transport.ts'
import { Abort, type AbortReason } from '../util/abort.ts'
import type { Json, JsonObject } from '../util/json.ts'
import type { Timer, World } from '../util/world.ts'
import type { FactSink } from './stages.ts'

/** How long a transport may take to end after an abort before the call goes on without it. */
const GRACE_MS = 250

export interface AttemptOutcome {
  /** Whether a byte may have left. */
  readonly sent: boolean
  /** Absent when the transport did not end within the grace. */
  readonly reply: FinalReply | undefined
  /** The tool has taken the work on, and its end is asked for later. There is no reply then. */
  readonly accepted?: Accepted
  /** Why it was stopped, if it was. */
  readonly aborted: AbortReason | undefined
}

export interface AttemptHooks {
  /** Asked in the tick in which the first byte would leave: the record and the lease must hold then (S35, S37). */
  maySend(): boolean
  /** A reply that came after the attempt was given up. */
  late?(reply: FinalReply): void
  /** The tool took the work on. Without somebody who keeps the handle no transport may give one. */
  accepted?(handle: JsonObject): void
}

/** `makeSend` gets the abort of this attempt alone: its deadline, or the end of the whole call. */
export function runAttempt(
  transport: Transport,
  makeSend: (abort: Abort) => Send,
  callAbort: Abort,
  onFact: FactSink,
  world: World,
  hooks: AttemptHooks,
): Promise<AttemptOutcome> {
  return new Promise((resolve, reject) => {
    new Attempt(makeSend, callAbort, onFact, world, hooks, resolve, reject).run(transport)
  })
}

/** Thrown into a transport at its sent boundary: nothing leaves. */
class NotNow extends Error {
  override readonly name = 'NotNow'
}

const NOT_NOW: FinalReply = {
  kind: 'failure',
  failure: 'intent-not-recorded',
  message: "nothing was sent: the ledger cannot be written, or too little of this process's lease is left",
  definite: true,
}

class Attempt implements AttemptSink {
  readonly #abort = new Abort()
  readonly #send: Send
  readonly #onFact: FactSink
  readonly #world: World
  readonly #hooks: AttemptHooks
  readonly #resolve: (outcome: AttemptOutcome) => void
  readonly #reject: (error: unknown) => void
  readonly #deadline: Timer
  readonly #unlisten: () => void
  #grace: Timer | undefined
  #sent = false
  #accepted = false
  #over = false

  constructor(
    makeSend: (abort: Abort) => Send,
    callAbort: Abort,
    onFact: FactSink,
    world: World,
    hooks: AttemptHooks,
    resolve: (outcome: AttemptOutcome) => void,
    reject: (error: unknown) => void,
  ) {
    this.#send = makeSend(this.#abort)
    this.#onFact = onFact
    this.#world = world
    this.#hooks = hooks
    this.#resolve = resolve
    this.#reject = reject
    this.#deadline = world.after(this.#send.timeoutMs, () => this.#stop('timeout'))
    this.#unlisten = callAbort.listen((reason) => this.#stop(reason))
  }

  run(transport: Transport): void {
    const failed = (error: unknown) => {
      if (error instanceof NotNow) this.#conclude(NOT_NOW)
      else if (this.#end()) this.#reject(error)
    }
    try {
      transport.attempt(this.#send, this).then((reply) => {
        if (this.#over) this.late(reply)
        else this.#conclude(reply)
      }, failed)
    } catch (error) {
      // A transport that runs at once throws at once what the sink threw.
      failed(error)
    }
  }

  late(reply: Reply): void {
    if (this.#sent && reply.kind !== 'accepted') this.#hooks.late?.(reply)
  }

  sending(): void {
    if (this.#over) throw new Error('transport: sending() after the attempt was over')
    if (!this.#hooks.maySend()) throw new NotNow()
    this.#sent = true
    this.#onFact({ kind: 'attempt', attempt: this.#send.attempt })
  }

  accepted(handle: JsonObject): void {
    if (!this.#sent) throw new Error('transport: accepted() before sending()')
    if (this.#accepted) throw new Error('transport: accepted() twice in one attempt')
    if (this.#over) return
    if (this.#hooks.accepted === undefined)
      throw new Error('transport: accepted() and nobody keeps the handle')
    this.#accepted = true
    this.#hooks.accepted(handle)
  }

  progress(fact: JsonObject): void {
    this.#onFact({ kind: 'progress', fact })
  }

  chunk(part: Json): void {
    this.#onFact({ kind: 'chunk', part })
  }

  #stop(reason: AbortReason): void {
    if (this.#over || this.#abort.aborted) return
    this.#abort.abort(reason)
    this.#grace = this.#world.after(GRACE_MS, () => this.#conclude(undefined))
  }

  #conclude(reply: Reply | undefined): void {
    if (!this.#end()) return
    const outcome = { sent: this.#sent, aborted: this.#abort.reason }
    this.#resolve(
      reply?.kind === 'accepted' ? { ...outcome, reply: undefined, accepted: reply } : { ...outcome, reply },
    )
  }

  /** False when it was over already. */
  #end(): boolean {
    if (this.#over) return false
    this.#over = true
    this.#deadline.cancel()
    this.#grace?.cancel()
    this.#unlisten()
    return true
  }
}
