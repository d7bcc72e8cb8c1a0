// The lines of a program's standard output, each of bounded length. A line that is too long is dropped, not kept.

export interface LinesOptions {
  /** How long a line may be just now, in bytes. */
  maxBytes(): number
  line(line: Buffer): void
  /** A line has passed the limit. `head` is how it begins. Called once for each such line. */
  tooLong(head: Buffer): void
  /** The end of a line that was too long. */
  tail(tail: Buffer): void
  /** So much of one line comes that nobody can be meant to read it. */
  flood(why: string): void
}

export interface Lines {
  push(chunk: Buffer): void
  /** Bytes that are kept of a line that has not ended yet. */
  readonly buffered: number
}

/** Of one line, kept or not. */
const MAX_LINE_BYTES = 64 * 1_048_576
const EDGE_BYTES = 512
const NEWLINE = 0x0a

export function createLines(options: LinesOptions): Lines {
  let parts: Buffer[] = []
  let length = 0
  let dropping = false
  let tail: Buffer = Buffer.alloc(0)
  let ended = false

  function overflow(why: string): void {
    ended = true
    parts = []
    tail = Buffer.alloc(0)
    options.flood(why)
  }

  function extend(piece: Buffer): void {
    length += piece.length
    if (length > MAX_LINE_BYTES) {
      overflow('wrote a line without end')
    } else if (dropping) {
      // Copied: a view would keep all of what it was cut from.
      tail = Buffer.from(Buffer.concat([tail, piece.subarray(-EDGE_BYTES)]).subarray(-EDGE_BYTES))
    } else if (length > options.maxBytes()) {
      const head = Buffer.concat([...parts, piece], Math.min(length, EDGE_BYTES))
      tail = Buffer.from(piece.subarray(-EDGE_BYTES))
      dropping = true
      parts = []
      options.tooLong(head)
    } else if (piece.length > 0) parts.push(piece)
  }

  function endLine(): void {
    const [only] = parts
    const line = parts.length === 1 && only !== undefined ? only : Buffer.concat(parts)
    const dropped = dropping
    const end = tail
    parts = []
    length = 0
    dropping = false
    tail = Buffer.alloc(0)
    if (dropped) options.tail(end)
    else if (line.length > 0) options.line(line)
  }

  return {
    get buffered() {
      return parts.reduce((sum, part) => sum + part.length, tail.length)
    },
    push(chunk) {
      let from = 0
      while (!ended && from < chunk.length) {
        const at = chunk.indexOf(NEWLINE, from)
        extend(chunk.subarray(from, at === -1 ? chunk.length : at))
        if (at === -1 || ended) return
        endLine()
        from = at + 1
      }
    },
  }
}
