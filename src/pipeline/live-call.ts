// A call under way in this process: what its caller can hold on to.
import type { Answer } from '../contract/answer.ts'
import type { CallRecord } from '../contract/call.ts'
import { isReadOnly } from '../contract/effect.ts'
import type { AbortReason } from '../util/abort.ts'
import { answerOf, recordOf } from './answer.ts'
import type { Kit } from './kit.ts'
import { runCall } from './run-call.ts'
import type { CallFact, Claimed, Received } from './stages.ts'

/** How long past its deadline a caller waits for an outcome that is being written down. */
const GRACE_MS = 500

export interface LiveCall {
  readonly id: string
  readonly namespace: string
  readonly actor: string
  /** Settles when the call is over. */
  readonly done: Promise<Answer>
  answer(options?: { readonly waitMs?: number }): Promise<Answer>
  accepted(): Promise<void>
  abort(reason: AbortReason): void
  hangUp(): void
  onFact(listener: (fact: CallFact) => void): () => void
  /** How it is shown while it runs. */
  record(): CallRecord
}

export function startLiveCall(make: (onFact: (fact: CallFact) => void) => Received, kit: Kit): LiveCall {
  const listeners = new Set<(fact: CallFact) => void>()
  const received = make((fact) => {
    for (const listener of listeners) listener(fact)
  })
  const { call, caller } = received
  const done = runCall(received, kit)
  const running = (): Answer =>
    answerOf(
      received,
      {
        state: 'running',
        effect: 'pending',
        attempt: 0,
        replayed: false,
        warnings: received.warnings,
        sideEffects: [],
      },
      kit,
    )

  const record = (): CallRecord => {
    const { endedAt: _, ...rest } = recordOf(received, running(), undefined, kit)
    return rest
  }
  let over = false
  done.finally(() => {
    over = true
  })

  return {
    id: call.id,
    namespace: caller.namespace,
    actor: caller.actor,
    done,
    answer(options = {}) {
      // Execution ends at the deadline; its outcome may still wait for a slow disk. The caller does not (S9).
      const left = received.listensUntil - kit.world.clock.monotonic() + GRACE_MS
      const waitMs = Math.min(options.waitMs ?? Number.POSITIVE_INFINITY, left)
      if (waitMs === Number.POSITIVE_INFINITY) return done
      return new Promise((resolve, reject) => {
        const timer = kit.world.after(waitMs, () => resolve(running()))
        done.then(resolve, reject).finally(() => timer.cancel())
      })
    },
    async accepted() {
      // Once it is over its own record is on the way; this one must not come after it.
      if (!over) await kit.ledger.record(record())
    },
    abort: (reason) => received.abort.abort(reason),
    hangUp() {
      const { operation, flight } = received as Partial<Claimed>
      const alone = flight === undefined || !flight.shared
      if (operation !== undefined && isReadOnly(operation.effect) && alone) received.abort.abort('hang-up')
    },
    onFact(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    record,
  }
}
