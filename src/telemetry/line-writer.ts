// Lines on their way to a file descriptor, off the event loop: one write serves all lines of a few milliseconds.
//
// Pino's own asynchronous destination measures the growing batch anew with each line, which cost more than the line.
import { write, writeSync } from 'node:fs'
import type { World } from '../util/world.ts'

export interface LineWriterOptions {
  readonly fd: number
  readonly world: Pick<World, 'after'>
  /** Told once when the descriptor takes no more, such as a closed pipe. Lines after that are dropped. */
  readonly onFailed: (error: Error) => void
  /** Told how many lines were lost, once there is room again. */
  readonly onDropped: (lines: number) => void
}

export interface LineWriter {
  /** Lines that were not written. */
  readonly dropped: number
  write(line: string): void
  /** For a process about to die: what waits is written before this returns. */
  flushSync(): void
  /** Resolves once everything has left; nothing is taken after that. */
  end(): Promise<void>
}

const FLUSH_MS = 50
/** A batch this long does not wait for the timer. */
const BATCH_CHARS = 64 * 1024
/** A destination that hangs must not fill the memory: past this, lines are dropped and counted. */
const BUFFER_CHARS = 8 * 1024 * 1024
/** A descriptor that blocks nothing answers EAGAIN while its reader is behind. */
const BUSY_RETRY_MS = 20
const BUSY_RETRIES_SYNC = 50
const ORDER_MS = 10

export function createLineWriter(options: LineWriterOptions): LineWriter {
  const { fd, world, onFailed, onDropped } = options
  let lines: string[] = []
  let chars = 0
  let dropped = 0
  let told = 0
  let closed = false
  let writing = false
  let armed = false
  let failed = false
  let ended: (() => void) | undefined
  let ending: Promise<void> | undefined

  function take(): Buffer {
    const bytes = Buffer.from(lines.join(''))
    lines = []
    chars = 0
    return bytes
  }

  function pump(): void {
    if (writing || failed) return
    if (lines.length === 0) ended?.()
    else send(take(), 0)
  }

  function send(batch: Buffer, offset: number): void {
    writing = true
    write(fd, batch, offset, (error, written) => {
      if (error?.code === 'EAGAIN') {
        world.after(BUSY_RETRY_MS, () => send(batch, offset))
        return
      }
      if (error) {
        fail(error)
        return
      }
      if (offset + written < batch.length) {
        send(batch, offset + written)
        return
      }
      writing = false
      if (dropped > told) {
        const lost = dropped - told
        told = dropped
        onDropped(lost)
      }
      if (chars >= BATCH_CHARS || ended !== undefined) pump()
      else arm()
    })
  }

  function arm(): void {
    if (armed || lines.length === 0) return
    armed = true
    world.after(FLUSH_MS, () => {
      armed = false
      pump()
    })
  }

  function fail(error: Error): void {
    if (failed) return
    failed = true
    dropped += lines.length
    lines = []
    onFailed(error)
    ended?.()
  }

  function flushSync(): void {
    if (failed || lines.length === 0) return
    // A batch may be with another thread, and nothing tells when it is done: a moment keeps the lines in order.
    if (writing) pause(ORDER_MS)
    let rest = take()
    for (let busy = 0; rest.length > 0; ) {
      try {
        rest = rest.subarray(writeSync(fd, rest))
        busy = 0
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || ++busy > BUSY_RETRIES_SYNC) {
          fail(error as Error)
          return
        }
        pause(BUSY_RETRY_MS)
      }
    }
  }

  // The last lines before a crash are the ones that are needed.
  process.once('exit', flushSync)

  return {
    get dropped() {
      return dropped
    },
    write(line) {
      if (failed || closed || chars > BUFFER_CHARS) {
        dropped += 1
        return
      }
      lines.push(line)
      chars += line.length
      if (chars >= BATCH_CHARS) pump()
      else arm()
    },
    flushSync,
    end() {
      ending ??= new Promise<void>((resolve) => {
        ended = resolve
        pump()
        if (failed) resolve()
      }).then(() => {
        closed = true
        process.removeListener('exit', flushSync)
      })
      return ending
    },
  }
}

function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
