// The end of a connection whose request was answered before all of it came.
import type { IncomingMessage } from 'node:http'
import type { World } from '../util/world.ts'

/** A caller that first sends everything and then reads must get to see its answer; one that never stops must not. */
const LINGER_BYTES = 256 * 1024 * 1024

/** Discards what still comes, up to a limit. Closing at once would reset the connection and lose the answer. */
export function discardRest(raw: IncomingMessage, world: Pick<World, 'after'>, lingerMs: number): void {
  if (raw.complete || raw.destroyed) return
  const { socket } = raw
  let left = LINGER_BYTES
  const timer = world.after(lingerMs, () => socket.destroy())
  const onData = (chunk: Buffer): void => {
    left -= chunk.length
    if (left < 0) socket.destroy()
  }
  const stop = (): void => {
    timer.cancel()
    raw.off('data', onData)
    raw.off('end', stop)
    raw.off('close', stop)
  }
  raw.on('data', onData).on('end', stop).on('close', stop)
}
