// Messages of gRPC on the wire: a flag, four bytes of length, and the message itself. JSON here; ours are never compressed.

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

/** A compressed message may be longer than what it holds, by its own framing. */
const COMPRESSED_SLACK = 1024

export interface FrameReader {
  /** Once there is a flaw, nothing more is kept. */
  push(chunk: Uint8Array): FrameFlaw | undefined
  /** The one message, as it came; undefined where there was none. */
  end(): Uint8Array | FrameFlaw | undefined
  /** The message says that it is compressed. */
  readonly compressed: boolean
}

/** For unary calls: one message, no larger than `maxBytes`. `compressed`: one that is compressed is read, too. */
export function createFrameReader(maxBytes: number, { compressed } = { compressed: false }): FrameReader {
  let kept: Uint8Array[] = []
  let size = 0
  let length: number | undefined
  let flaw: FrameFlaw | undefined
  let flagged = false

  const fail = (why: FrameFlaw): FrameFlaw => {
    flaw = why
    kept = []
    return why
  }

  return {
    get compressed() {
      return flagged
    },
    push(chunk) {
      if (flaw !== undefined) return flaw
      kept.push(chunk)
      size += chunk.byteLength
      if (length === undefined && size >= HEAD) {
        const head = joined(kept)
        kept = [head]
        flagged = head[0] !== 0
        if (flagged && !(compressed && head[0] === 1)) return fail('compressed')
        length = head.readUInt32BE(1)
        if (length > maxBytes + (flagged ? COMPRESSED_SLACK : 0)) return fail('too-large')
      }
      return length !== undefined && size > HEAD + length ? fail('several') : undefined
    },
    end() {
      if (flaw !== undefined) return flaw
      if (size === 0) return undefined
      if (length === undefined || size < HEAD + length) return 'cut'
      return joined(kept).subarray(HEAD)
    },
  }
}

/** Most messages are one chunk, which is kept as it is. */
function joined(chunks: readonly Uint8Array[]): Buffer {
  const [first] = chunks
  if (first === undefined || chunks.length > 1) return Buffer.concat(chunks)
  return Buffer.isBuffer(first) ? first : Buffer.from(first.buffer, first.byteOffset, first.byteLength)
}
