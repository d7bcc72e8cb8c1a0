// Runs the cases on a subject, one after the other, in bounded time.
import type { Abort } from '../util/abort.ts'
import type { Case } from './case.ts'
import { CASES } from './cases.ts'
import { createCheckLog } from './check.ts'
import { LATE, RunStopped, within } from './pace.ts'

export { RunStopped } from './pace.ts'

import { hasNothing, NothingToTest, type Probes, probe } from './probe.ts'
import { type CaseRun, makeReport, type Report } from './report.ts'
import type { Subject } from './subject.ts'

export interface RunOptions {
  /** Bounds one case. @default 20000 */
  readonly caseMs?: number
  /** Bounds the whole run: what is not reached by then has failed. @default 120000 */
  readonly totalMs?: number
  /** @default all of them; what no case is left for is not tested */
  readonly cases?: readonly Case[]
  /** Ends the run early, with `RunStopped`. */
  readonly stop?: Abort
}

const CASE_MS = 20_000
const TOTAL_MS = 120_000
const BLIND = 'what reaches the tool cannot be seen from outside'

/** Throws `NothingToTest` where the tool offers none of the operations: a report would look better than it is. */
export async function runConformance(subject: Subject, options: RunOptions = {}): Promise<Report> {
  const { world } = subject
  const { caseMs = CASE_MS, totalMs = TOTAL_MS, cases = CASES } = options
  const startedAt = world.clock.now()
  const began = world.clock.monotonic()
  const left = () => began + totalMs - world.clock.monotonic()

  const probes = await within(world, totalMs, probe(subject), options.stop)
  if (probes === LATE) throw new Error(`${subject.name} did not end its first calls in time`)
  if (hasNothing(probes)) throw new NothingToTest(subject.name, probes)

  const runs: CaseRun[] = []
  for (const one of cases) {
    runs.push(await runCase(one, subject, probes, Math.min(caseMs, left()), options.stop))
  }
  return makeReport(subject, runs, {
    startedAt,
    durationMs: Math.round(world.clock.monotonic() - began),
    operations: probes,
  })
}

async function runCase(
  one: Case,
  subject: Subject,
  probes: Probes,
  ms: number,
  stop: Abort | undefined,
): Promise<CaseRun> {
  const missing = (one.needs ?? []).map((need) => probes[need]).filter(({ state }) => state !== 'offered')
  const blind = one.looksInside === true && subject.sends('') === undefined
  if (missing.length > 0 || blind) {
    const skipped = [...missing.map(({ why }) => why), ...(blind ? [BLIND] : [])].join('; ')
    return { case: one, skipped, durationMs: 0 }
  }
  const checks = createCheckLog(one.requirements)
  if (ms <= 0)
    return { case: one, checks, broke: 'not reached: the time of the run was used up', durationMs: 0 }
  const { clock } = subject.world
  const began = clock.monotonic()
  const broke = await within(subject.world, ms, one.run(subject, checks, probes), stop).then(
    (end) => (end === LATE ? `did not end within ${Math.round(ms)} ms` : undefined),
    (error: unknown) => {
      if (error instanceof RunStopped) throw error
      return `broke off: ${error instanceof Error ? error.message : String(error)}`
    },
  )
  return {
    case: one,
    checks,
    ...(broke === undefined ? {} : { broke }),
    durationMs: clock.monotonic() - began,
  }
}
