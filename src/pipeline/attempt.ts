// One send: bounded by its time, by cancel, and by a short grace in which the transport may still report.
import type { Reply, Send, Transport } from '../transport/transport.ts'
import { Abort, type AbortReason } from '../util/abort.ts'
import type { World } from '../util/world.ts'
import type { FactSink } from './stages.ts'

/** How long a transport may take to end after an abort before the call goes on without it. */
const GRACE_MS = 250

export interface AttemptOutcome {
  /** Whether a byte may have left. */
  readonly sent: boolean
  /** Absent when the transport did not end within the grace. */
  readonly reply?: Reply
  /** Why it was stopped, if it was. */
  readonly aborted?: AbortReason
}

export function runAttempt(
  transport: Transport,
  send: Omit<Send, 'abort'>,
  callAbort: Abort,
  onFact: FactSink,
  world: World,
): Promise<AttemptOutcome> {
  return new Promise((resolve, reject) => {
    const abort = new Abort()
    let sent = false
    let over = false
    const end = (finish: () => void) => {
      if (over) return
      over = true
      deadline.cancel()
      grace?.cancel()
      unlisten()
      finish()
    }
    const conclude = (reply?: Reply) =>
      end(() =>
        resolve({
          sent,
          ...(reply === undefined ? {} : { reply }),
          ...(abort.reason === undefined ? {} : { aborted: abort.reason }),
        }),
      )
    let grace: { cancel(): void } | undefined
    const stop = (reason: AbortReason) => {
      if (over || abort.aborted) return
      abort.abort(reason)
      grace = world.after(GRACE_MS, () => conclude())
    }
    const deadline = world.after(send.timeoutMs, () => stop('timeout'))
    const unlisten = callAbort.listen(stop)
    const sink = {
      sending() {
        if (over) throw new Error('transport: sending() after the attempt was over')
        sent = true
        onFact({ kind: 'attempt', attempt: send.attempt })
      },
      // No transport of this build takes work on beyond its attempt; a handle that nobody keeps would be a lie.
      accepted() {
        throw new Error('transport: accepted() needs a durable handle')
      },
      progress: (fact: Parameters<Parameters<Transport['attempt']>[1]['progress']>[0]) =>
        onFact({ kind: 'progress', fact }),
      chunk: (part: Parameters<Parameters<Transport['attempt']>[1]['chunk']>[0]) =>
        onFact({ kind: 'chunk', part }),
    }
    transport.attempt({ ...send, abort }, sink).then(conclude, (error: unknown) => end(() => reject(error)))
  })
}
