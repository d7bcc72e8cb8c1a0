// What goes wrong and when, decided by the seed before the run begins.
import type { Random } from '../sim/random.ts'

export type StoreKind = 'sqlite' | 'postgres'

export const INCIDENTS = ['kill', 'freeze', 'freeze-past-lease', 'stop'] as const
export type IncidentKind = (typeof INCIDENTS)[number]

export interface Incident {
  readonly kind: IncidentKind
  /** `server-1`, `server-2`, `tool`, `database`. */
  readonly victim: string
  /** How long after the one before. */
  readonly afterMs: number
  /** How long it stays down or frozen. */
  readonly downMs: number
  /** How long it is left alone afterwards. */
  readonly upMs: number
}

/** The lease of replicas in the run: short, so that one can be frozen past it again and again. */
export const LEASE_MS = 3_000

const WEIGHTS: Readonly<Record<StoreKind, Readonly<Record<string, number>>>> = {
  sqlite: {
    'kill server-1': 6,
    'freeze server-1': 3,
    'stop server-1': 1,
    'kill tool': 3,
    'freeze tool': 2,
  },
  postgres: {
    'kill server-1': 4,
    'kill server-2': 4,
    'freeze server-1': 2,
    'freeze server-2': 2,
    'freeze-past-lease server-1': 2,
    'freeze-past-lease server-2': 2,
    'stop server-1': 1,
    'kill tool': 3,
    'freeze tool': 2,
    'kill database': 2,
    'freeze database': 2,
  },
}

export function planIncidents(store: StoreKind, rounds: number, random: Random): readonly Incident[] {
  return Array.from({ length: rounds }, (_, index) => {
    const one = random.fork('incident', index)
    const [kind, victim] = one.weighted(WEIGHTS[store]).split(' ') as [IncidentKind, string]
    return { kind, victim, afterMs: one.int(20, 500), downMs: downMs(kind, one), upMs: one.int(300, 1_500) }
  })
}

function downMs(kind: IncidentKind, random: Random): number {
  if (kind === 'freeze') return random.int(50, 1_200)
  // Past the end of its lease, and past the quiet time of every tool after that.
  if (kind === 'freeze-past-lease') return random.int(LEASE_MS + 200, 2 * LEASE_MS + 1_500)
  return random.int(0, 300)
}
