// The plan of a seed. Every part draws from a stream of chance of its own.
import { type Ask, FLUSH_MS, type Incident, PLAIN, type Plan, type Weather } from './plan.ts'
import { approvalAsksOf, asksOf, CROWD_AT, followed, grantsOf, sagasOf } from './plan-asks.ts'
import { incidentsOf } from './plan-incidents.ts'
import { Random } from './random.ts'

export function planOf(seed: number): Plan {
  const random = new Random(`seed ${seed}`)
  const calm = random.chance(0.15)
  const world = random.fork('world').weighted({ classic: 28, ages: 2, effects: 30, replicas: 50 })
  const replicas = world === 'replicas' ? 2 : 1
  // A stream of their own: seeds without them are what they would be if there were none.
  const approvals = world !== 'ages' && random.fork('approvals').chance(0.25)
  const crowd = !approvals && !PLAIN.has(world) && random.fork('crowd').chance(0.15)
  const plain = approvals
    ? approvalAsksOf(random.fork('approval-asks'), world)
    : asksOf(random.fork('asks'), world, crowd)
  const sagas = PLAIN.has(world) ? [] : sagasOf(random.fork('sagas'), plain)
  const asks = PLAIN.has(world)
    ? plain
    : plain.map((ask) => followed(random.fork('follow', ask.name), ask, sagas))
  return {
    seed,
    replicas,
    sagas,
    person: !PLAIN.has(world) && random.fork('person').chance(0.4),
    ...(approvals ? { grants: grantsOf(random.fork('grants')) } : {}),
    asks,
    incidents: calm
      ? []
      : [
          ...incidentsOf(random.fork('incidents'), asks, world),
          ...comings(random, crowd, replicas),
          ...policies(random, asks, approvals),
        ],
    weather: weatherOf(random.fork('weather'), calm, replicas),
  }
}

/** Rules change while people decide. */
function policies(random: Random, asks: readonly Ask[], approvals: boolean): Incident[] {
  const dice = random.fork('policies')
  if (!approvals || !dice.chance(0.4)) return []
  const { at, tool } = dice.pick(asks)
  const decision = dice.pick(['require-approval', 'require-approval', 'deny'] as const)
  return [{ kind: 'policy', at: at + dice.int(0, 4_000), tool, decision }]
}

function weatherOf(random: Random, calm: boolean, replicas: number): Weather {
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
    readMs: replicas === 1 ? 0 : random.fork('read').pick([0, 1, 8]),
  }
}

/** Limits are shared anew when a replica comes or goes: it does when the crowd is there. */
function comings(random: Random, crowd: boolean, replicas: number): Incident[] {
  if (!crowd || replicas === 1) return []
  const dice = random.fork('comings')
  return [{ kind: 'restart', at: CROWD_AT + dice.int(-1_000, 1_000), drainMs: 0, replica: dice.int(0, 1) }]
}
