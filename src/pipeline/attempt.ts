// One send: bounded by its time, by cancel, and by a short grace in which the transport may still report.
import type { AttemptSink, Reply, Send, Transport } from '../transport/transport.ts'
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
  readonly reply: Reply | undefined
  /** Why it was stopped, if it was. */
  readonly aborted: AbortReason | undefined
}

/** `makeSend` gets the abort of this attempt alone: its deadline, or the end of the whole call. */
export function runAttempt(
  transport: Transport,
  makeSend: (abort: Abort) => Send,
  callAbort: Abort,
  onFact: FactSink,
  world: World,
): Promise<AttemptOutcome> {
  return new Promise((resolve, reject) => {
    new Attempt(makeSend, callAbort, onFact, world, resolve, reject).run(transport)
  })
}

class Attempt implements AttemptSink {
  readonly #abort = new Abort()
  readonly #send: Send
  readonly #onFact: FactSink
  readonly #world: World
  readonly #resolve: (outcome: AttemptOutcome) => void
  readonly #reject: (error: unknown) => void
  readonly #deadline: Timer
  readonly #unlisten: () => void
  #grace: Timer | undefined
  #sent = false
  #over = false

  constructor(
    makeSend: (abort: Abort) => Send,
    callAbort: Abort,
    onFact: FactSink,
    world: World,
    resolve: (outcome: AttemptOutcome) => void,
    reject: (error: unknown) => void,
  ) {
    this.#send = makeSend(this.#abort)
    this.#onFact = onFact
    this.#world = world
    this.#resolve = resolve
    this.#reject = reject
    this.#deadline = world.after(this.#send.timeoutMs, () => this.#stop('timeout'))
    this.#unlisten = callAbort.listen((reason) => this.#stop(reason))
  }

  run(transport: Transport): void {
    transport.attempt(this.#send, this).then(
      (reply) => this.#conclude(reply),
      (error: unknown) => {
        if (this.#end()) this.#reject(error)
      },
    )
  }

  sending(): void {
    if (this.#over) throw new Error('transport: sending() after the attempt was over')
    this.#sent = true
    this.#onFact({ kind: 'attempt', attempt: this.#send.attempt })
  }

  /** No transport of this build takes work on beyond its attempt; a handle that nobody keeps would be a lie. */
  accepted(): void {
    throw new Error('transport: accepted() needs a durable handle')
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
    if (this.#end()) this.#resolve({ sent: this.#sent, reply, aborted: this.#abort.reason })
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
