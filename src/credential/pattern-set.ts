// Finds many texts in another one in a single pass (Aho-Corasick): the time is that of reading it, whatever it holds.

/** From `start` up to, but without, `end`. */
export type Span = readonly [start: number, end: number]

export interface PatternSet {
  /** Length of the shortest pattern; in anything shorter there is none. */
  readonly shortest: number
  readonly longest: number
  /** Where patterns are, overlapping ones as one, in order. `open` is how much of the end may be the start of one. */
  find(text: string): { readonly spans: readonly Span[]; readonly open: number }
  /** Whether a pattern may begin with this character. */
  begins(code: number): boolean
  /** The same as `find` for a text that comes one character at a time. */
  scan(): PatternScan
}

export interface PatternScan {
  /** Length of the longest pattern that ends with this character, 0 for none. */
  next(code: number): number
  /** How much of what came so far may be the start of a pattern. */
  open(): number
}

const ROOT = 0
const NONE = -1

/** Children of a state are a list: nearly all have one, and a long pattern would make a table of them huge. */
interface States {
  readonly code: Int32Array
  readonly child: Int32Array
  readonly next: Int32Array
  readonly depth: Int32Array
  readonly fallback: Int32Array
  /** Length of the longest pattern that ends here, 0 for none. */
  readonly ends: Int32Array
}

export function createPatternSet(patterns: Iterable<string>): PatternSet {
  const all = [...new Set(patterns)].filter((pattern) => pattern !== '')
  const states = build(all)
  const { depth, ends, fallback } = states
  const begins = pairsOf(all)
  const first = new Map<number, number>()
  // The states of most texts' characters, without a look at the map.
  const plain = new Int32Array(0x80)
  for (let at = states.child[ROOT] ?? NONE; at !== NONE; at = states.next[at] ?? NONE) {
    const code = states.code[at] ?? 0
    first.set(code, at)
    if (code < plain.length) plain[code] = at
  }
  const firstOf = (code: number) => (code < plain.length ? plain[code] : first.get(code)) ?? ROOT

  /** From a state by a character, ROOT where nothing that came before counts any more. */
  function step(from: number, code: number): number {
    for (let state = from; state !== ROOT; state = fallback[state] ?? ROOT) {
      const to = childOf(states, state, code)
      if (to !== ROOT) return to
    }
    return ROOT
  }

  return {
    shortest: all.reduce((least, { length }) => Math.min(least, length), Number.POSITIVE_INFINITY),
    longest: all.reduce((most, { length }) => Math.max(most, length), 0),

    find(text) {
      const spans: [number, number][] = []
      const last = text.length - 1
      let state = ROOT
      for (let index = 0; index <= last; index++) {
        const code = text.charCodeAt(index)
        let to = step(state, code)
        if (to === ROOT) {
          state = ROOT
          // Most of a text begins no pattern: two characters say so, without a look at the states.
          if (index < last && begins[pairOf(code, text.charCodeAt(index + 1))] === 0) continue
          to = firstOf(code)
        }
        state = to
        const length = ends[state] ?? 0
        if (length > 0) add(spans, index + 1 - length, index + 1)
      }
      return { spans, open: depth[state] ?? 0 }
    },

    begins: (code) => firstOf(code) !== ROOT,

    scan() {
      let state = ROOT
      return {
        next(code) {
          state = step(state, code) || firstOf(code)
          return ends[state] ?? 0
        },
        open: () => depth[state] ?? 0,
      }
    },
  }
}

function pairOf(code: number, next: number): number {
  return ((code << 7) ^ next) & 0x3fff
}

/** The first two characters of each pattern. A pair that only looks like one costs a look, and nothing else. */
function pairsOf(patterns: readonly string[]): Uint8Array {
  const pairs = new Uint8Array(0x4000)
  for (const pattern of patterns) {
    if (pattern.length > 1) pairs[pairOf(pattern.charCodeAt(0), pattern.charCodeAt(1))] = 1
    else pairs.fill(1)
  }
  return pairs
}

/** Ends only grow, so a new span can swallow or touch those before it, and nothing else. */
function add(spans: [number, number][], start: number, end: number): void {
  let from = start
  for (let last = spans.at(-1); last !== undefined && last[1] >= from; last = spans.at(-1)) {
    from = Math.min(from, last[0])
    spans.pop()
  }
  spans.push([from, end])
}

function childOf({ child, next, code }: States, state: number, wanted: number): number {
  for (let at = child[state] ?? NONE; at !== NONE; at = next[at] ?? NONE) {
    if (code[at] === wanted) return at
  }
  return ROOT
}

function build(patterns: readonly string[]): States {
  const size = patterns.reduce((sum, { length }) => sum + length, 1)
  const states: States = {
    code: new Int32Array(size),
    child: new Int32Array(size).fill(NONE),
    next: new Int32Array(size).fill(NONE),
    depth: new Int32Array(size),
    fallback: new Int32Array(size),
    ends: new Int32Array(size),
  }
  let used = 1
  for (const pattern of patterns) {
    let state = ROOT
    for (let index = 0; index < pattern.length; index++) {
      const code = pattern.charCodeAt(index)
      let to = childOf(states, state, code)
      if (to === ROOT) {
        to = used++
        states.code[to] = code
        states.depth[to] = index + 1
        states.next[to] = states.child[state] ?? NONE
        states.child[state] = to
      }
      state = to
    }
    states.ends[state] = pattern.length
  }
  linkFallbacks(states, used)
  return states
}

/** Level by level: the fallback of a state is the longest other one that ends as it does. */
function linkFallbacks(states: States, used: number): void {
  const { child, next, code, fallback, ends } = states
  const queue = new Int32Array(used)
  let tail = 1
  for (let head = 0; head < tail; head++) {
    const state = queue[head] ?? ROOT
    for (let at = child[state] ?? NONE; at !== NONE; at = next[at] ?? NONE) {
      let back = ROOT
      if (state !== ROOT) {
        const wanted = code[at] ?? 0
        let from = fallback[state] ?? ROOT
        back = childOf(states, from, wanted)
        while (back === ROOT && from !== ROOT) {
          from = fallback[from] ?? ROOT
          back = childOf(states, from, wanted)
        }
      }
      fallback[at] = back
      if (ends[at] === 0) ends[at] = ends[back] ?? 0
      queue[tail++] = at
    }
  }
}
