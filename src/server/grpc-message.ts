// The one message of a unary call, read within its bounds of size and time.
import type { ServerHttp2Stream } from 'node:http2'
import { createFrameReader } from '../util/grpc-frame.ts'
import type { World } from '../util/world.ts'
import { CallerGone } from './body.ts'
import { Refusal } from './refusal.ts'

/** Its sender has compressed the message. */
export class CompressedMessage extends Error {
  override readonly name = 'CompressedMessage'
}

const FLAWS = {
  cut: 'The message ends before its length.',
  several: 'The call has more than one message.',
}

interface Bounds {
  readonly world: Pick<World, 'after'>
  readonly requestTimeoutMs: number
}

/** Nothing past the limit is ever held. Rejects with a `Refusal`, a `CompressedMessage`, or with `CallerGone`. */
export function readMessage(
  { world, requestTimeoutMs }: Bounds,
  stream: ServerHttp2Stream,
  limit: number,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const reader = createFrameReader(limit)
    const stop = (): void => {
      timer.cancel()
      stream.off('data', onData).off('end', finish).off('close', onClose)
      // What still comes is of no interest.
      stream.resume()
    }
    const finish = (): void => {
      stop()
      const message = reader.end()
      if (message === undefined) reject(unreadable('The call has no message.'))
      else if (message === 'too-large') reject(tooLarge(limit))
      else if (message === 'compressed') reject(new CompressedMessage())
      else if (typeof message === 'string') reject(unreadable(FLAWS[message]))
      else resolve(Buffer.from(message.buffer, message.byteOffset, message.byteLength))
    }
    const onData = (chunk: Buffer): void => {
      if (reader.push(chunk) !== undefined) finish()
    }
    // Gone before the end: nobody is there to be told.
    const onClose = (): void => {
      stop()
      reject(new CallerGone())
    }
    const timer = world.after(requestTimeoutMs, () => {
      stop()
      reject(unreadable(`The request took longer than ${requestTimeoutMs} ms to come.`))
    })
    if (stream.destroyed) onClose()
    else stream.on('data', onData).on('end', finish).on('close', onClose)
  })
}

function tooLarge(limit: number): Refusal {
  return new Refusal({
    failure: 'input-too-large',
    message: `The message is larger than ${limit} bytes.`,
    details: { limit_bytes: limit },
  })
}

function unreadable(message: string): Refusal {
  return new Refusal({ failure: 'body-unreadable', message, fix: 'Send one JSON message, as it is.' })
}
