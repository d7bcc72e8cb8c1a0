// Virtual time: what is due next, by (time, seeded tie). One thing runs, everything it set in motion ends, then the next.
import type { Random } from './random.ts'

/** Something that can die, or be held, with everything that is due for it. */
export interface Owner {
  readonly name: string
  dead: boolean
  /** Set while it is held: what came due meanwhile, in order. */
  held: Due[] | undefined
}

export interface Due {
  time: number
  /** 0 runs before everything else of the same moment, in the order in which it was asked for. */
  rank: 0 | 1
  tie: number
  seq: number
  readonly owner: Owner | undefined
  readonly label: string
  readonly run: () => void
  canceled: boolean
}

export class Agenda {
  readonly #ties: Random
  readonly #heap: Due[] = []
  #now = 0
  #seq = 0
  #ran = 0

  constructor(ties: Random) {
    this.#ties = ties
  }

  get now(): number {
    return this.#now
  }

  /** How many events have run. */
  get ran(): number {
    return this.#ran
  }

  /** Runs `run` in `ms`, unless its owner is dead by then; while the owner is held it waits. */
  after(ms: number, owner: Owner | undefined, label: string, run: () => void): Due {
    return this.#add(this.#now + Math.max(0, ms), 1, this.#ties.next(), owner, label, run)
  }

  /** Runs once the current work is done, before any timer. */
  soon(owner: Owner | undefined, label: string, run: () => void): Due {
    return this.#add(this.#now, 0, 0, owner, label, run)
  }

  /** Lets go of what was held, in the order in which it came due. */
  resume(owner: Owner): void {
    const waiting = owner.held ?? []
    owner.held = undefined
    for (const due of waiting) {
      due.time = this.#now
      due.rank = 0
      due.tie = 0
      due.seq = this.#seq++
      this.#push(due)
    }
  }

  /** Runs what is due next. False when nothing is left. */
  step(onRun: (due: Due) => void): boolean {
    for (;;) {
      const due = this.#pop()
      if (due === undefined) return false
      if (due.canceled || due.owner?.dead === true) continue
      if (due.time > this.#now) this.#now = due.time
      if (due.owner?.held !== undefined) {
        due.owner.held.push(due)
        continue
      }
      this.#ran++
      onRun(due)
      due.run()
      return true
    }
  }

  #add(
    time: number,
    rank: 0 | 1,
    tie: number,
    owner: Owner | undefined,
    label: string,
    run: () => void,
  ): Due {
    const due: Due = { time, rank, tie, seq: this.#seq++, owner, label, run, canceled: false }
    this.#push(due)
    return due
  }

  #push(due: Due): void {
    const heap = this.#heap
    let at = heap.push(due) - 1
    while (at > 0) {
      const up = (at - 1) >> 1
      if (!isBefore(due, heap[up] as Due)) break
      heap[at] = heap[up] as Due
      at = up
    }
    heap[at] = due
  }

  #pop(): Due | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || first === last) return first
    let at = 0
    for (;;) {
      let down = 2 * at + 1
      if (down >= heap.length) break
      if (down + 1 < heap.length && isBefore(heap[down + 1] as Due, heap[down] as Due)) down++
      if (!isBefore(heap[down] as Due, last)) break
      heap[at] = heap[down] as Due
      at = down
    }
    heap[at] = last
    return first
  }
}

function isBefore(one: Due, other: Due): boolean {
  if (one.time !== other.time) return one.time < other.time
  if (one.rank !== other.rank) return one.rank < other.rank
  if (one.tie !== other.tie) return one.tie < other.tie
  return one.seq < other.seq
}
