// Waiting for the end of a call that is open, wherever it ends: here, on another replica, or by a person's hand.
import type { FastifyReply } from 'fastify'
import { isOutcome } from '../contract/answer.ts'
import type { CallRecord } from '../contract/call.ts'
import type { Edge } from './edge.ts'

/** What ends here is told by an event; what ends elsewhere is only found by looking (S38). */
const FIRST_LOOK_MS = 25
const LAST_LOOK_MS = 1000

interface Wait {
  readonly ms: number
  readonly reply: FastifyReply
  readonly look: () => Promise<CallRecord | undefined>
}

/** The call as it is at its end, or as it is when the time is up, the caller has left, or the server stops. */
export async function waitForEnd(edge: Edge, first: CallRecord, wait: Wait): Promise<CallRecord> {
  const { world, runtime } = edge
  const until = world.clock.monotonic() + wait.ms
  const rest = createRest(edge, wait.reply)
  const stops = [
    runtime.events.on('call:ended', (event) => event.call_id === first.id && rest.wake()),
    runtime.events.on('entry:settled', (event) => event.call_id === first.id && rest.wake()),
    runtime.events.on('approval:decided', (event) => event.call_id === first.id && rest.wake()),
  ]
  let record = first
  try {
    for (let pause = FIRST_LOOK_MS; ; pause = Math.min(pause * 2, LAST_LOOK_MS)) {
      const left = until - world.clock.monotonic()
      // A server that stops lets calls end that run; what a person or a tool must settle is not waited for.
      const goesOn = !edge.draining() || record.state === 'running'
      if (isOutcome(record.state) || left <= 0 || rest.isLeft || !goesOn) return record
      await rest.sleep(Math.min(pause, left))
      record = (await lookAgain(edge, wait)) ?? record
    }
  } finally {
    for (const stop of stops) stop()
    rest.end()
  }
}

/** While the server stops, the store may be closed already: what was last known is then the answer. */
async function lookAgain(edge: Edge, { look }: Wait): Promise<CallRecord | undefined> {
  try {
    return await look()
  } catch (error) {
    if (edge.draining()) return undefined
    throw error
  }
}

/** A sleep that the end of the call, or of the connection, cuts short. A wake between two sleeps counts for the next. */
function createRest({ world }: Pick<Edge, 'world'>, reply: FastifyReply) {
  let woken = false
  let isLeft = false
  let wakeUp: (() => void) | undefined
  const wake = (): void => {
    woken = true
    wakeUp?.()
  }
  const leave = (): void => {
    isLeft = true
    wake()
  }
  reply.raw.once('close', leave)
  return {
    /** The caller has hung up. */
    get isLeft() {
      return isLeft
    },
    wake,
    async sleep(ms: number): Promise<void> {
      if (!woken) {
        await new Promise<void>((resolve) => {
          const timer = world.after(ms, resolve)
          wakeUp = () => {
            timer.cancel()
            resolve()
          }
        })
      }
      woken = false
      wakeUp = undefined
    },
    end: () => reply.raw.off('close', leave),
  }
}
