// Makes a failing plan smaller: fewer asks, incidents and people of the same seed that still break the same invariant.
import type { Plan } from './plan.ts'
import type { SimReport, Simulator } from './simulate.ts'

/** It is a help, not a search for the smallest. */
const MAX_RUNS = 300

export async function shrink(
  simulate: Simulator,
  plan: Plan,
  failed: SimReport,
): Promise<{ plan: Plan; report: SimReport }> {
  let best = { plan, report: failed }
  let runs = 0

  /** Takes the smaller plan where it fails alike. */
  async function attempt(smaller: Plan): Promise<boolean> {
    if (runs++ >= MAX_RUNS || smaller.asks.length === 0) return false
    const report = await simulate(smaller)
    if (report.violation?.invariant !== failed.violation?.invariant) return false
    best = { plan: smaller, report }
    return true
  }

  for (let size = Math.ceil(plan.asks.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < best.plan.asks.length; ) {
      const asks = best.plan.asks.toSpliced(at, size)
      if (!(await attempt({ ...best.plan, asks }))) at += size
    }
  }
  if (best.plan.person) await attempt({ ...best.plan, person: false })
  if (best.plan.grants !== undefined && best.plan.grants.length > 0) {
    await attempt({ ...best.plan, grants: [] })
  }
  if (best.plan.sagas.length > 0) await attempt({ ...best.plan, sagas: [] })
  for (let at = 0; at < best.plan.incidents.length; ) {
    const incidents = best.plan.incidents.toSpliced(at, 1)
    if (!(await attempt({ ...best.plan, incidents }))) at++
  }
  return best
}
