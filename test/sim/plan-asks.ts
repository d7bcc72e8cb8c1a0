// Who asks for what and when: efforts, each with all the ways in which it is asked for more than once.
import {
  ACTORS,
  type Ask,
  type Follow,
  type GrantPlan,
  PLAIN,
  type SagaPlan,
  type WorldKind,
} from './plan.ts'
import { Random } from './random.ts'
import { APPROVAL_TOOLS, EFFECT_TOOLS, SIM_TOOLS, type SimTool } from './sim-tool.ts'

const HOUR = 3_600_000
/** Replicas know of each other by then. */
export const CROWD_AT = 2_500

export function asksOf(random: Random, world: WorldKind, crowd: boolean): Ask[] {
  // Some runs are all about one thing: what is rare among many tools comes up often there.
  const theme = crowd ? 'crowd' : random.weighted({ mixed: 5, one: 3, rivals: 2 })
  const rivals = SIM_TOOLS.filter((tool) => tool.onRepeat !== undefined)
  // A new world is mostly about what is new in it.
  const all = PLAIN.has(world) ? SIM_TOOLS : [...SIM_TOOLS, ...EFFECT_TOOLS, ...EFFECT_TOOLS]
  const limited = all.filter((tool) => tool.concurrency !== undefined || tool.rate !== undefined)
  const choice = theme === 'rivals' ? rivals : theme === 'crowd' ? limited : all
  const count = theme === 'one' || theme === 'crowd' ? 1 : random.int(1, 4)
  const tools = Array.from({ length: count }, () => random.pick(choice))
  const asks: Ask[] = []
  const spread = random.pick([50, 2_000, world === 'replicas' ? 8_000 : 20_000])
  // A crowd comes all at once, for as many things as it is people.
  const span = crowd ? Math.min(spread, 2_000) : spread
  for (let index = theme === 'crowd' ? 14 : random.int(3, 10); index > 0; index--) {
    const effort = effortOf(random, random.pick(tools), index, span, world)
    for (const ask of effort) {
      // Rivals never give up, and come back all at once.
      const habits = theme === 'rivals' ? { patience: 6, restMs: 0 } : {}
      const at = crowd ? ask.at + CROWD_AT : ask.at
      asks.push({ ...ask, ...habits, at, name: `a${asks.length + 1}` })
    }
  }
  return asks
}

/** What people have to agree to; some who ask wait for them, some take back what they asked for. */
export function approvalAsksOf(random: Random, world: WorldKind): Ask[] {
  const asks: Ask[] = []
  const span = random.pick([50, 2_000, 12_000])
  for (let index = random.int(2, 6); index > 0; index--) {
    for (const ask of effortOf(random, random.pick(APPROVAL_TOOLS), index, span, world)) {
      // Who listens for less than a second has nobody asked for long enough.
      const { deadlineMs, ...rest } = ask
      const listens = deadlineMs === undefined || random.chance(0.7) ? {} : { deadlineMs: deadlineMs + 2_000 }
      asks.push({
        ...rest,
        ...listens,
        restMs: Math.min(ask.restMs, 6_000),
        name: `a${asks.length + 1}`,
        ...(random.chance(0.25) ? { throughApproval: true as const } : {}),
        ...(random.chance(0.1) ? { withdrawMs: random.int(0, 1_500) } : {}),
      })
    }
  }
  return asks
}

export function grantsOf(random: Random): GrantPlan[] {
  return Array.from({ length: random.pick([0, 0, 1, 2]) }, () => ({
    at: random.int(0, 6_000),
    tool: random.pick(APPROVAL_TOOLS).name,
    ttlMs: random.int(60_000, 90_000),
    maxUses: random.int(1, 2),
    ...(random.chance(0.3) ? { endMs: random.int(100, 5_000) } : {}),
  }))
}

/** Some of the calls of one actor are in a saga. */
export function sagasOf(random: Random, asks: readonly Ask[]): SagaPlan[] {
  if (!random.chance(0.35)) return []
  const actor = random.pick(ACTORS)
  const first = asks.reduce((least, ask) => Math.min(least, ask.at), Number.POSITIVE_INFINITY)
  const at = Math.max(0, first - 100)
  const endAt = at + random.pick([random.int(50, 3_000), random.int(3_000, 30_000)])
  return [{ name: 'saga-1', actor, at, endAt, end: random.pick(['complete', 'abort', 'abort']) }]
}

export function followed(random: Random, ask: Ask, sagas: readonly SagaPlan[]): Ask {
  const saga = sagas.find(({ actor }) => actor === ask.actor)
  // All asks with one key are about one effect, in the saga or not.
  const isIn = saga !== undefined && new Random(`${ask.key ?? ask.requestId ?? ask.name}`).chance(0.6)
  const follows: Follow[] = []
  const soon = () => random.pick([0, random.int(0, 300), random.int(300, 6_000), random.int(14_000, 22_000)])
  for (let n = random.pick([0, 1, 1, 2]); n > 0; n--) {
    follows.push({
      kind: 'commit',
      afterMs: soon(),
      ...(random.chance(0.1) ? { forged: true as const } : {}),
    })
  }
  if (random.chance(0.25)) follows.push({ kind: 'rollback', afterMs: soon() })
  if (random.chance(0.4)) follows.push({ kind: 'compensate', afterMs: soon() })
  if (random.chance(0.15)) follows.push({ kind: 'compensate', afterMs: soon() })
  return { ...ask, ...(isIn ? { saga: saga.name } : {}), ...(follows.length === 0 ? {} : { follows }) }
}

/** One thing that somebody wants done, and all the ways in which it is asked for more than once. */
function effortOf(random: Random, tool: SimTool, index: number, span: number, world: WorldKind): Ask[] {
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
  // Leases are renewed all the time: long waits say nothing new there.
  const longest = world === 'replicas' ? 40_000 : 120_000
  const later = () => at + random.pick([random.int(3_000, 20_000), random.int(36_000, longest)])
  if (random.chance(0.5)) for (let n = random.int(1, 3); n > 0; n--) asks.push(another({ at: soon() }))
  if (random.chance(0.5)) asks.push(another({ at: later() }))
  if (random.chance(0.1) && world === 'ages') asks.push(another({ at: at + random.int(2 * HOUR, 4 * HOUR) }))
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
    restMs: random.pick([random.int(1, 200), random.int(500, 4_000), random.int(36_000, 42_000)]),
    ...(random.chance(0.7) ? { deadlineMs: random.pick([random.int(1, 300), random.int(300, 6_000)]) } : {}),
    ...(random.chance(0.2) ? { timeoutMs: random.int(5, 700) } : {}),
    ...(random.chance(0.15) ? { cancelMs: random.pick([0, random.int(0, 30), random.int(1, 1_500)]) } : {}),
    ...(random.chance(0.1) ? { hangUpMs: random.int(0, 300) } : {}),
    ...(random.chance(0.1) ? { waitMs: random.int(0, 300) } : {}),
  }
}
