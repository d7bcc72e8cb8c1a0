// The body of one reply: decoded, and never kept past its cap.
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'

/** What can be wrong with a body although its status line arrived. None of these is a definite answer (S23). */
export type BodyFlaw =
  /** larger than the cap once decoded */
  | 'too-large'
  /** the connection ended before the body did */
  | 'cut'
  /** framed or encoded wrongly */
  | 'malformed'

type Decoder = ReturnType<typeof createGunzip>

/** Encoded bytes may outnumber decoded ones only by framing; more is an attack of empty blocks. */
const FRAMING_SLACK = 1024

/**
 * Bytes in, one buffer out. Chunks are copied into one growing buffer, not kept: a peer that sends single bytes would
 * else make every byte cost an object.
 */
export class Growing {
  readonly #cap: number
  #bytes: Uint8Array | undefined
  #length = 0

  constructor(cap: number) {
    this.#cap = cap
  }

  /** False when the cap is passed; nothing is kept of such a chunk. */
  add(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.length
    if (length > this.#cap) return false
    if (this.#length === 0) {
      // Most replies are one chunk, which is kept as it is.
      this.#bytes = chunk
    } else {
      let bytes = this.#bytes as Uint8Array
      if (length > bytes.length || this.#length === bytes.length) {
        const larger = new Uint8Array(Math.min(this.#cap, Math.max(length * 2, 4096)))
        larger.set(bytes.subarray(0, this.#length))
        bytes = larger
        this.#bytes = larger
      }
      bytes.set(chunk, this.#length)
    }
    this.#length = length
    return true
  }

  take(): Uint8Array {
    return this.#bytes === undefined ? new Uint8Array(0) : this.#bytes.subarray(0, this.#length)
  }
}

export interface ResponseBody {
  /** False asks the sender to wait for `onDrain`. */
  write(chunk: Uint8Array): boolean
  end(): void
  /** Lets go of what is held; neither callback comes after it. */
  destroy(): void
}

interface ResponseBodyOptions {
  /** The header as it came. */
  readonly encoding: string | undefined
  readonly cap: number
  readonly onDrain: () => void
  readonly onEnd: (bytes: Uint8Array) => void
  readonly onFlaw: (flaw: BodyFlaw) => void
}

/** `undefined` when the encoding is not one we can read. */
export function createResponseBody(options: ResponseBodyOptions): ResponseBody | undefined {
  switch ((options.encoding ?? '').trim().toLowerCase()) {
    case '':
    case 'identity':
      return new PlainBody(options)
    case 'gzip':
    case 'x-gzip':
      return new EncodedBody(options, () => createGunzip())
    case 'br':
      return new EncodedBody(options, () => createBrotliDecompress() as unknown as Decoder)
    case 'deflate':
      // Half of the world sends zlib here and half the bare stream; the low nibble of a zlib header is always 8.
      return new EncodedBody(
        options,
        (first) => ((first & 0x0f) === 8 ? createInflate() : createInflateRaw()) as unknown as Decoder,
      )
    default:
      return undefined
  }
}

class PlainBody implements ResponseBody {
  readonly #options: ResponseBodyOptions
  readonly #kept: Growing

  constructor(options: ResponseBodyOptions) {
    this.#options = options
    this.#kept = new Growing(options.cap)
  }

  write(chunk: Uint8Array): boolean {
    if (!this.#kept.add(chunk)) this.#options.onFlaw('too-large')
    return true
  }

  end(): void {
    this.#options.onEnd(this.#kept.take())
  }

  destroy(): void {}
}

class EncodedBody implements ResponseBody {
  readonly #options: ResponseBodyOptions
  readonly #open: (firstByte: number) => Decoder
  readonly #kept: Growing
  #decoder: Decoder | undefined
  #wireLeft: number
  #over = false

  constructor(options: ResponseBodyOptions, open: (firstByte: number) => Decoder) {
    this.#options = options
    this.#open = open
    this.#kept = new Growing(options.cap)
    this.#wireLeft = options.cap + Math.ceil(options.cap / 8) + FRAMING_SLACK
  }

  write(chunk: Uint8Array): boolean {
    if (this.#over || chunk.length === 0) return true
    this.#wireLeft -= chunk.length
    if (this.#wireLeft < 0) {
      this.#fail('too-large')
      return true
    }
    this.#decoder ??= this.#start(chunk[0] as number)
    return this.#decoder.write(chunk)
  }

  end(): void {
    if (this.#over) return
    if (this.#decoder === undefined) {
      this.#over = true
      this.#options.onEnd(this.#kept.take())
    } else {
      this.#decoder.end()
    }
  }

  destroy(): void {
    this.#over = true
    this.#decoder?.destroy()
  }

  #start(firstByte: number): Decoder {
    const decoder = this.#open(firstByte)
    decoder.on('data', (part: Uint8Array) => {
      if (!this.#over && !this.#kept.add(part)) this.#fail('too-large')
    })
    decoder.on('drain', () => {
      if (!this.#over) this.#options.onDrain()
    })
    decoder.on('error', () => {
      if (!this.#over) this.#fail('malformed')
    })
    decoder.on('end', () => {
      if (this.#over) return
      this.#over = true
      this.#options.onEnd(this.#kept.take())
    })
    return decoder
  }

  #fail(flaw: BodyFlaw): void {
    this.destroy()
    this.#options.onFlaw(flaw)
  }
}
