// Checkpoints kept outside the store, where whoever can change the store cannot reach them (S39).
//
// An anchor never holds a call up: what cannot be handed over waits in a short queue, is tried again, and makes room for
// newer checkpoints, because each vouches for all before it.
import type { Events } from '../event/event.ts'
import type { Timer, World } from '../util/world.ts'
import type { KeptHead } from './checkpoint.ts'

export interface Anchor {
  /** Where checkpoints go, for people to read. */
  readonly name: string
  /** Why the last one could not be handed over. */
  readonly problem: string | undefined
  put(head: KeptHead): void
  /** Tries once more what waits, and lets go. */
  close(): Promise<void>
}

/** One way to keep a checkpoint. */
export interface AnchorTarget {
  readonly name: string
  /** How many may wait; 1 keeps the newest only. */
  readonly queue: number
  keep(head: KeptHead): Promise<void>
}

const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 60_000
const CLOSE_MS = 3_000

export function createAnchor(world: World, events: Events, target: AnchorTarget): Anchor {
  const waiting: KeptHead[] = []
  let problem: string | undefined
  let failures = 0
  let timer: Timer | undefined
  let working: Promise<void> | undefined
  let closed = false

  async function handOver(): Promise<void> {
    for (let head = waiting[0]; head !== undefined; head = waiting[0]) {
      try {
        await target.keep(head)
      } catch (error) {
        problem = `checkpoint ${head.number} is not kept at ${target.name}: ${messageOf(error)}`
        events.emit('audit:failed', { what: 'anchor', message: problem })
        failures += 1
        if (!closed) timer = world.after(Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LAST_RETRY_MS), again)
        return
      }
      // It may have made room for a newer one meanwhile.
      if (waiting[0] === head) waiting.shift()
      problem = undefined
      failures = 0
    }
  }

  function again(): void {
    timer = undefined
    run()
  }

  function run(): void {
    if (working !== undefined || timer !== undefined) return
    working = handOver().finally(() => {
      working = undefined
    })
  }

  return {
    name: target.name,
    get problem() {
      return problem
    },
    put(head) {
      waiting.push(head)
      if (waiting.length > target.queue) waiting.shift()
      run()
    },
    async close() {
      closed = true
      const last = (async () => {
        await working
        timer?.cancel()
        await handOver()
      })()
      // A target that does not answer must not hold the end up: the next start makes a newer one.
      await new Promise<void>((resolve) => {
        const patience = world.after(CLOSE_MS, resolve)
        last.finally(() => {
          patience.cancel()
          resolve()
        })
      })
    },
  }
}

/** Each is handed every checkpoint; one that cannot be reached holds up none of the others. */
export function joinAnchors(anchors: readonly Anchor[]): Anchor {
  return {
    name: anchors.map(({ name }) => name).join(', '),
    get problem() {
      const problems = anchors.flatMap(({ problem }) => problem ?? [])
      return problems.length === 0 ? undefined : problems.join('; ')
    },
    put(head) {
      for (const anchor of anchors) anchor.put(head)
    },
    async close() {
      await Promise.all(anchors.map((anchor) => anchor.close()))
    },
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
