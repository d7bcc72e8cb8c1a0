// What goes wrong in a run, and when.
import {
  type Ask,
  type CrashState,
  type Incident,
  LEASE_MS,
  QUESTION_STATES,
  TWO_PHASE_STATES,
  WALL_OFFSET_MS,
  type WorldKind,
} from './plan.ts'
import type { Random } from './random.ts'
import { SIM_TOOL_BY_NAME } from './sim-tool.ts'

export function incidentsOf(random: Random, asks: readonly Ask[], world: WorldKind): Incident[] {
  const span = random.pick([200, 5_000, 60_000])
  const incidents: Incident[] = []
  for (let n = random.int(0, 4); n > 0; n--) {
    const incident = incidentOf(random, span, asks, world)
    const replica = world === 'replicas' ? random.int(0, 1) : 0
    incidents.push(replica === 0 ? incident : { ...incident, replica })
  }
  return incidents
}

function incidentOf(random: Random, span: number, asks: readonly Ask[], world: WorldKind): Incident {
  // Anywhere, or while something is likely to be under way.
  const near = random.pick(asks)
  const at = random.chance(0.5) ? random.int(0, span) : near.at + random.int(0, 2_000)
  const shared = world === 'replicas'
  const kind = random.weighted({
    crash: 4,
    'crash-in-flush': 5,
    'crash-in-send': 3,
    pause: shared ? 5 : 3,
    'pause-in-send': shared ? 4 : 1,
    restart: 2,
    'failed-flush': 2,
    stall: 2,
    'wall-set': 2,
    upgrade: 3,
    partition: shared ? 4 : 0,
    'lost-ack': shared ? 3 : 0,
    'crash-in-state': statesOf(asks).length === 0 ? 0 : 7,
  })
  switch (kind) {
    case 'crash':
      return { kind, at }
    case 'crash-in-flush':
      return { kind, flush: random.int(2, 40), when: random.pick(['before-commit', 'after-commit']) }
    case 'crash-in-send':
      return { kind, send: random.int(1, 15), when: random.pick(['before', 'after']) }
    case 'pause': {
      const zombie = shared
        ? [random.int(LEASE_MS / 2, 3 * LEASE_MS), random.int(LEASE_MS, 6 * LEASE_MS)]
        : []
      return { kind, at, ms: random.pick([random.int(1, 200), random.int(500, 5_000), ...zombie]) }
    }
    case 'pause-in-send':
      return { kind, send: random.int(1, 12), ms: random.int(LEASE_MS / 2, 2 * LEASE_MS) }
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
    case 'partition':
      return { kind, at, ms: random.pick([random.int(20, 1_000), random.int(LEASE_MS / 2, 3 * LEASE_MS)]) }
    case 'lost-ack':
      return {
        kind,
        flush: random.int(3, 60),
        ms: random.pick([random.int(10, 500), random.int(500, 2 * LEASE_MS)]),
      }
    case 'crash-in-state':
      return { kind, state: random.pick(statesOf(asks)), nth: random.int(1, 2) }
  }
}

/** Those that the tools of these asks can come into. */
function statesOf(asks: readonly Ask[]): CrashState[] {
  const tools = asks.map(({ tool }) => SIM_TOOL_BY_NAME.get(tool))
  const states = new Set<CrashState>()
  for (const tool of tools) {
    if (tool?.query !== undefined) states.add('reconciling')
    if (tool?.undoneBy !== undefined) states.add('compensating')
    if (tool?.approval !== undefined) for (const state of QUESTION_STATES) states.add(state)
    if (tool?.twoPhase === true) for (const state of TWO_PHASE_STATES) states.add(state)
  }
  return [...states]
}
