// Messages of gRPC on the wire: a flag, four bytes of length, and the message itself. JSON here, never compressed.

/** A flag byte and the length of the message. */
const HEAD = 5

export function frameOf(text: string): Buffer {
  const bytes = Buffer.byteLength(text)
  const frame = Buffer.allocUnsafe(HEAD + bytes)
  frame.writeUInt8(0, 0)
  frame.writeUInt32BE(bytes, 1)
  frame.write(text, HEAD)
  return frame
}

/** `too-large` is found in the length that is announced, so that nothing of it is kept. */
export type FrameFlaw = 'too-large' | 'compressed' | 'cut' | 'several'

export interface FrameReader {
  /** Once there is a flaw, nothing more is kept. */
  push(chunk: Uint8Array): FrameFlaw | undefined
  /** The one message; undefined where there was none. */
  end(): Uint8Array | FrameFlaw | undefined
}

/** For unary calls: one message, no larger than `maxBytes`. */
export function createFrameReader(maxBytes: number): FrameReader {
  let kept: Uint8Array[] = []
  let size = 0
  let length: number | undefined
  let flaw: FrameFlaw | undefined

  const fail = (why: FrameFlaw): FrameFlaw => {
    flaw = why
    kept = []
    return why
  }

  return {
    push(chunk) {
      if (flaw !== undefined) return flaw
      kept.push(chunk)
      size += chunk.byteLength
      if (length === undefined && size >= HEAD) {
        const head = Buffer.concat(kept)
        kept = [head]
        if (head[0] !== 0) return fail('compressed')
        length = head.readUInt32BE(1)
        if (length > maxBytes) return fail('too-large')
      }
      return length !== undefined && size > HEAD + length ? fail('several') : undefined
    },
    end() {
      if (flaw !== undefined) return flaw
      if (size === 0) return undefined
      if (length === undefined || size < HEAD + length) return 'cut'
      return Buffer.concat(kept).subarray(HEAD)
    },
  }
}
