// Takes secrets out of a text that comes in pieces. Each character is looked at once, however the pieces are cut: no more is
// held back than may be the start of a secret, and what is held back is never read again.
import { beginsEscape, createEscapeReader } from './escape-reader.ts'
import type { PatternSet } from './pattern-set.ts'

export interface RedactStream {
  push(part: string): string
  end(): string
}

/** A text shorter than this was not cut off by anybody. */
export const SHORTEST_CUT = 100
/** Less of a secret than this is not told from other text. */
export const SHORTEST_EDGE = 8

/** The place of what has not begun. */
const NOWHERE = Number.POSITIVE_INFINITY

/** `levels`: how often the escapes of the text are read. */
export function createRedactStream(patterns: PatternSet, levels: number, mark: string): RedactStream {
  const held = createHeldText()
  const found: [number, number][] = []
  /** Of the source: what has come, and up to where it is replaced already. */
  let length = 0
  let replaced = -1
  const first = createLevel(patterns, levels, (start, end) => insert(found, start, end))

  /** All that begins before a place. A secret that goes on after it is replaced now, and its rest when it comes. */
  function giveUpTo(place: number): string {
    const pieces: string[] = []
    let given = 0
    held.drop(Math.min(replaced, place))
    for (const [start, end] of found) {
      if (start >= place) break
      given++
      if (start > replaced) pieces.push(held.take(start), mark)
      replaced = Math.max(replaced, end)
      held.drop(Math.min(replaced, place))
    }
    if (given > 0) found.splice(0, given)
    pieces.push(held.take(place))
    return pieces.join('')
  }

  return {
    push(part) {
      held.add(part)
      let open = first.open()
      for (let index = 0; index < part.length; index++, length++) {
        const code = part.charCodeAt(index)
        // Where nothing has begun, most characters begin nothing either, on no level.
        if (open === NOWHERE && !patterns.begins(code) && !beginsEscape(code)) continue
        first.take(code, length, length + 1)
        open = first.open()
      }
      return giveUpTo(Math.min(open, length))
    },
    end() {
      const begun = first.open()
      first.end()
      // A long text that ends in the middle of a secret was cut off there.
      if (length >= SHORTEST_CUT && length - begun >= SHORTEST_EDGE) insert(found, begun, length)
      return giveUpTo(length)
    },
  }
}

interface Level {
  take(code: number, start: number, end: number): void
  /** Where in the source that begins which may become a secret; `NOWHERE` where nothing does. */
  open(): number
  end(): void
}

/** Looks for the patterns in what it is given, and hands it on to the next level with the escapes read. */
function createLevel(
  patterns: PatternSet,
  further: number,
  tell: (start: number, end: number) => void,
): Level {
  const scan = patterns.scan()
  // Where the last characters began: as many as a pattern has at most.
  const began = new Float64Array(Math.max(1, patterns.longest))
  let count = 0
  const next = further === 0 ? undefined : createLevel(patterns, further - 1, tell)
  const reader = next && createEscapeReader(next.take)
  const back = (characters: number) => began[(count - characters) % began.length] ?? 0
  return {
    take(code, start, end) {
      began[count++ % began.length] = start
      const length = scan.next(code)
      if (length > 0) tell(back(length), end)
      reader?.push(code, start, end)
    },
    open() {
      const depth = scan.open()
      const own = depth === 0 ? NOWHERE : back(depth)
      return reader === undefined || next === undefined ? own : Math.min(own, reader.open(), next.open())
    },
    end() {
      reader?.end()
      next?.end()
    },
  }
}

/** Keeps spans in order, those that overlap or touch as one. A new one is near the end: levels lag by an escape or two. */
function insert(spans: [number, number][], start: number, end: number): void {
  let at = spans.length
  let [from, to] = [start, end]
  let swallowed = 0
  for (let last = spans[at - 1]; last !== undefined && last[1] >= from; last = spans[--at - 1]) {
    if (last[0] > to) continue
    from = Math.min(from, last[0])
    to = Math.max(to, last[1])
    swallowed++
  }
  if (swallowed > 0 || at < spans.length) spans.splice(at, swallowed, [from, to])
  else spans.push([from, to])
}

interface HeldText {
  add(part: string): void
  /** What is held up to this place of the source, which is not held any more. */
  take(place: number): string
  drop(place: number): void
}

/** The end of the source that was not given out yet, in the pieces in which it came. */
function createHeldText(): HeldText {
  let pieces: string[] = []
  let first = 0
  /** Of the source, where the first piece is cut off. */
  let at = 0
  let inFirst = 0

  function forward(place: number, onPiece?: (text: string) => void): void {
    while (at < place) {
      const piece = pieces[first] ?? ''
      const end = Math.min(piece.length, inFirst + place - at)
      onPiece?.(piece.slice(inFirst, end))
      at += end - inFirst
      inFirst = end
      if (end < piece.length) break
      first++
      inFirst = 0
    }
    // Seldom, so that it costs nothing on the whole.
    if (first > 1_000 && first > pieces.length / 2) {
      pieces = pieces.slice(first)
      first = 0
    }
  }

  return {
    add(part) {
      if (part !== '') pieces.push(part)
    },
    take(place) {
      const taken: string[] = []
      forward(place, (text) => taken.push(text))
      return taken.join('')
    },
    drop: (place) => forward(place),
  }
}
