// What a seed means: who asks for what and when, what goes wrong, and how bad the network is. Data, so that it can be
// made smaller.
import type { JsonObject } from '../../src/util/json.ts'
import { Random } from './random.ts'
import { SIM_TOOLS, type SimTool } from './sim-tool.ts'

export interface Ask {
  readonly name: string
  readonly at: number
  readonly actor: string
  readonly tool: string
  /** The explicit key; else the request id is the key; without both it can be asked only once. */
  readonly key?: string
  readonly requestId?: string
  readonly input: JsonObject
  readonly deadlineMs?: number
  readonly timeoutMs?: number
  /** After the start; 0 is in the same breath. */
  readonly cancelMs?: number
  readonly hangUpMs?: number
  /** Listens only so long, although the call goes on. */
  readonly waitMs?: number
  /** How often it asks again: after a crash, a failure that says so, or an open state. */
  readonly patience: number
  readonly restMs: number
}

export type Incident =
  | { readonly kind: 'crash'; readonly at: number }
  | {
      readonly kind: 'crash-in-flush'
      readonly flush: number
      readonly when: 'before-commit' | 'after-commit'
    }
  | { readonly kind: 'crash-in-send'; readonly send: number; readonly when: 'before' | 'after' }
  | { readonly kind: 'pause'; readonly at: number; readonly ms: number }
  | { readonly kind: 'restart'; readonly at: number; readonly drainMs: number }
  | {
      readonly kind: 'failed-flush'
      readonly flush: number
      readonly committed: boolean
      readonly exitMs: number
    }
  | { readonly kind: 'stall'; readonly flush: number; readonly ms: number }
  | { readonly kind: 'wall-set'; readonly at: number; readonly offsetMs: number }
  | { readonly kind: 'upgrade'; readonly at: number; readonly tool: string; readonly removesOld: boolean }

/** Probabilities and bounds for everything between the runtime and its tools, and for the disk. */
export interface Weather {
  readonly refused: number
  readonly lost: number
  readonly late: number
  readonly replyLost: number
  readonly cut: number
  readonly slow: number
  /** How often a tool answers with something else than success. */
  readonly trouble: number
  readonly latencyMs: number
  readonly flushMs: number
}

export interface Plan {
  readonly seed: number
  readonly asks: readonly Ask[]
  readonly incidents: readonly Incident[]
  readonly weather: Weather
}

export const ACTORS = ['ann', 'bob'] as const
/** The longest that a request is on its way, and how far the wall clock is ever set off. */
export const LATE_MS = 8_000
export const WALL_OFFSET_MS = 4_000
/** The longest that one of the two halves of a flush takes when the disk is well. */
export const FLUSH_MS = 20

const HOUR = 3_600_000

export function planOf(seed: number): Plan {
  const random = new Random(`seed ${seed}`)
  const calm = random.chance(0.15)
  const asks = asksOf(random.fork('asks'))
  return {
    seed,
    asks,
    incidents: calm ? [] : incidentsOf(random.fork('incidents'), asks),
    weather: weatherOf(random.fork('weather'), calm),
  }
}

function weatherOf(random: Random, calm: boolean): Weather {
  const upTo = (most: number) => (calm || random.chance(0.4) ? 0 : random.next() * most)
  return {
    refused: upTo(0.3),
    lost: upTo(0.2),
    late: upTo(0.3),
    replyLost: upTo(0.3),
    cut: upTo(0.2),
    slow: upTo(0.2),
    trouble: upTo(0.7),
    latencyMs: random.pick([0, 5, 40, 200]),
    flushMs: random.pick([0, 2, FLUSH_MS, FLUSH_MS]),
  }
}

function asksOf(random: Random): Ask[] {
  // Some runs are all about one thing: what is rare among many tools comes up often there.
  const theme = random.weighted({ mixed: 5, one: 3, rivals: 2 })
  const choice = theme === 'rivals' ? SIM_TOOLS.filter((tool) => tool.onRepeat !== undefined) : SIM_TOOLS
  const count = theme === 'one' ? 1 : random.int(1, 4)
  const tools = Array.from({ length: count }, () => random.pick(choice))
  const asks: Ask[] = []
  const span = random.pick([50, 2_000, 20_000])
  for (let index = random.int(3, 10); index > 0; index--) {
    const effort = effortOf(random, random.pick(tools), index, span)
    for (const ask of effort) {
      // Rivals never give up, and come back all at once.
      const habits = theme === 'rivals' ? { patience: 6, restMs: 0 } : {}
      asks.push({ ...ask, ...habits, name: `a${asks.length + 1}` })
    }
  }
  return asks
}

/** One thing that somebody wants done, and all the ways in which it is asked for more than once. */
function effortOf(random: Random, tool: SimTool, index: number, span: number): Ask[] {
  const at = random.int(0, span)
  const input = { item: `item-${index}`, note: 'first' }
  const actor = random.pick(ACTORS)
  const key = random.weighted({ explicit: 6, request: 3, fresh: 1 })
  // A colon is in no base64url: it would give a raw key away (S19).
  const text = `k:${index}`
  const first: Ask = {
    ...habitsOf(random),
    name: '',
    at,
    actor,
    tool: tool.name,
    ...(key === 'explicit' ? { key: text } : key === 'request' ? { requestId: text } : {}),
    input,
  }
  const another = (over: Partial<Ask>): Ask => ({ ...first, ...habitsOf(random), ...over })
  const asks = [first]
  const soon = () => at + random.pick([0, 0, random.int(0, 50), random.int(0, 2_000)])
  const later = () => at + random.pick([random.int(3_000, 20_000), random.int(36_000, 120_000)])
  if (random.chance(0.5)) for (let n = random.int(1, 3); n > 0; n--) asks.push(another({ at: soon() }))
  if (random.chance(0.5)) asks.push(another({ at: later() }))
  if (random.chance(0.1)) asks.push(another({ at: at + random.int(2 * HOUR, 4 * HOUR) }))
  const reworded = { ...input, note: 'reworded' }
  const rewords = random.chance(tool.onRepeat === undefined ? 0.15 : 0.5)
  if (rewords) asks.push(another({ at: random.pick([soon(), later()]), input: reworded }))
  if (random.chance(0.15)) {
    asks.push(
      another({ at: random.pick([soon(), later()]), input: { item: `other-${index}`, note: 'first' } }),
    )
  }
  if (random.chance(0.2)) {
    asks.push(another({ at: random.pick([soon(), later()]), actor: actor === 'ann' ? 'bob' : 'ann' }))
  }
  if (tool.onRepeat === undefined || !random.chance(0.8)) return asks
  const { key: _key, requestId: _id, ...unkeyed } = first
  for (let n = random.int(1, 2); n > 0; n--) {
    const twin = { ...unkeyed, ...habitsOf(random), input: reworded, actor: random.pick(ACTORS) }
    asks.push({ ...twin, at: random.pick([at, soon(), later()]), key: `${text}-twin-${n}` })
  }
  return asks
}

function habitsOf(random: Random): Pick<Ask, 'patience' | 'restMs'> & Partial<Ask> {
  return {
    patience: random.int(0, 3),
    restMs: random.pick([random.int(1, 200), random.int(500, 4_000), random.int(36_000, 60_000)]),
    ...(random.chance(0.7) ? { deadlineMs: random.pick([random.int(1, 300), random.int(300, 6_000)]) } : {}),
    ...(random.chance(0.2) ? { timeoutMs: random.int(5, 700) } : {}),
    ...(random.chance(0.15) ? { cancelMs: random.pick([0, random.int(0, 30), random.int(1, 1_500)]) } : {}),
    ...(random.chance(0.1) ? { hangUpMs: random.int(0, 300) } : {}),
    ...(random.chance(0.1) ? { waitMs: random.int(0, 300) } : {}),
  }
}

function incidentsOf(random: Random, asks: readonly Ask[]): Incident[] {
  const span = random.pick([200, 5_000, 60_000])
  const incidents: Incident[] = []
  for (let n = random.int(0, 4); n > 0; n--) incidents.push(incidentOf(random, span, asks))
  return incidents
}

function incidentOf(random: Random, span: number, asks: readonly Ask[]): Incident {
  // Anywhere, or while something is likely to be under way.
  const near = random.pick(asks)
  const at = random.chance(0.5) ? random.int(0, span) : near.at + random.int(0, 2_000)
  const kind = random.weighted({
    crash: 4,
    'crash-in-flush': 5,
    'crash-in-send': 3,
    pause: 3,
    restart: 2,
    'failed-flush': 2,
    stall: 2,
    'wall-set': 2,
    upgrade: 3,
  })
  switch (kind) {
    case 'crash':
      return { kind, at }
    case 'crash-in-flush':
      return { kind, flush: random.int(2, 40), when: random.pick(['before-commit', 'after-commit']) }
    case 'crash-in-send':
      return { kind, send: random.int(1, 15), when: random.pick(['before', 'after']) }
    case 'pause':
      return { kind, at, ms: random.pick([random.int(1, 200), random.int(500, 5_000)]) }
    case 'restart':
      return { kind, at, drainMs: random.pick([0, random.int(1, 2_000)]) }
    case 'failed-flush':
      return {
        kind,
        flush: random.int(3, 30),
        committed: random.chance(0.5),
        exitMs: random.pick([0, random.int(1, 300), random.int(300, 3_000)]),
      }
    case 'stall':
      return { kind, flush: random.int(3, 30), ms: random.int(200, 6_000) }
    case 'wall-set':
      return { kind, at, offsetMs: random.int(-WALL_OFFSET_MS, WALL_OFFSET_MS) }
    case 'upgrade':
      return { kind, at: near.at + random.int(0, 4_000), tool: near.tool, removesOld: random.chance(0.7) }
  }
}
