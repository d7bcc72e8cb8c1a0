// Runs a range of seeds, shows how far it is, and explains the first that fails so that it can be run again.
import { INVARIANTS } from './invariant.ts'
import type { Plan } from './plan.ts'
import { planOf } from './plan-of.ts'
import { lineOf } from './seed-line.ts'
import { shrink } from './shrink.ts'
import { type Counts, createSimulator, type SimReport, type Simulator } from './simulate.ts'

export interface RunOptions {
  readonly seeds: number
  readonly start: number
  readonly verbose: boolean
  /** Machine-readable: a line for each seed, and nothing else. */
  readonly json: boolean
  readonly asks?: readonly string[]
  readonly incidents?: readonly number[]
  /** `person`, `sagas`, `grants`: what is left out. */
  readonly without?: readonly string[]
  readonly mutation?: string
  /** Names every seed that fails, without explaining any. */
  readonly keepGoing?: boolean
}

/** Often for a person who watches; in a log now and then. */
const PROGRESS_MS = process.stdout.isTTY === true ? 1_000 : 10_000

/** Whether every seed held. */
export async function runSeeds(options: RunOptions): Promise<boolean> {
  const simulate = await createSimulator()
  const began = performance.now()
  let shown = began
  const total: Record<string, number> = {}
  let done = 0
  let violations = 0
  let failed: { plan: Plan; report: SimReport } | undefined
  for (let seed = options.start; seed < options.start + options.seeds; seed++) {
    const plan = narrowed(planOf(seed), options)
    const report = await simulate(plan, options.verbose ? { verbose: console.log } : {})
    done++
    add(total, report.counts)
    if (options.json) console.log(JSON.stringify(lineOf(report)))
    if (report.violation !== undefined) {
      violations++
      failed = { plan, report }
      if (options.keepGoing !== true) break
      const { invariant, message } = report.violation
      if (!options.json) console.log(`seed ${seed} breaks '${invariant}': ${message.split('\n')[0]}`)
    }
    if (!options.json && performance.now() - shown > PROGRESS_MS) {
      shown = performance.now()
      console.log(`${done} of ${options.seeds} seeds, ${perSecond(total.events ?? 0, began)} events/s`)
    }
  }
  if (options.json) return failed === undefined
  if (failed !== undefined && options.keepGoing !== true) {
    await explain(simulate, failed.plan, failed.report, options)
  }
  console.log(summary(total, done, began, violations))
  return failed === undefined
}

/** The same seed with only a part of what it does: every part has chance of its own, so the rest stays as it was. */
function narrowed(plan: Plan, { asks, incidents, without = [] }: RunOptions): Plan {
  return {
    ...plan,
    ...(without.includes('person') ? { person: false } : {}),
    ...(without.includes('sagas') ? { sagas: [] } : {}),
    ...(without.includes('grants') && plan.grants !== undefined ? { grants: [] } : {}),
    ...(asks === undefined ? {} : { asks: plan.asks.filter((ask) => asks.includes(ask.name)) }),
    ...(incidents === undefined
      ? {}
      : { incidents: plan.incidents.filter((_, index) => incidents.includes(index)) }),
  }
}

async function explain(
  simulate: Simulator,
  plan: Plan,
  report: SimReport,
  options: RunOptions,
): Promise<void> {
  const small = await shrink(simulate, plan, report)
  const { violation, last } = small.report
  if (violation === undefined) return
  const all = planOf(plan.seed)
  const asks = small.plan.asks.map((ask) => ask.name).join(',')
  const incidents = small.plan.incidents.map((one) => positionOf(all, one)).join(',')
  const mutation = options.mutation === undefined ? '' : ` --mutation ${options.mutation}`
  const replay = `npm run sim -- --seeds 1 --start ${plan.seed}${mutation}`
  const left = [
    ...(all.person && !small.plan.person ? ['person'] : []),
    ...(small.plan.sagas.length < all.sagas.length ? ['sagas'] : []),
    ...((small.plan.grants?.length ?? 0) < (all.grants?.length ?? 0) ? ['grants'] : []),
  ]
  const without = left.length === 0 ? '' : ` --without ${left.join(',')}`
  console.log(`
seed ${plan.seed} breaks '${violation.invariant}': ${INVARIANTS[violation.invariant]}
  ${violation.message}

the last events of a smaller run of it (${small.plan.asks.length} of ${all.asks.length} asks, ${small.plan.incidents.length} of ${all.incidents.length} incidents):
${last.map((line) => `  ${line}`).join('\n')}

incidents: ${JSON.stringify(small.plan.incidents)}

run it again, whole:   ${replay} --verbose
run the smaller one:   ${replay} --asks ${asks} --incidents '${incidents}'${without} --verbose
`)
}

/** Incidents are data: the same one is in the plan of the seed, where it was taken from. */
function positionOf(plan: Plan, incident: Plan['incidents'][number]): number {
  return plan.incidents.findIndex((one) => JSON.stringify(one) === JSON.stringify(incident))
}

function add(total: Record<string, number>, { seen, ...counts }: Counts): void {
  for (const [name, count] of [...Object.entries(counts), ...Object.entries(seen)]) {
    total[name] = (total[name] ?? 0) + count
  }
}

function summary(total: Record<string, number>, seeds: number, began: number, violations: number): string {
  const of = (name: string) => total[name] ?? 0
  const rows = (prefix: string) =>
    Object.entries(total)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, count]) => `${name.slice(prefix.length)} ${count}`)
      .join(', ')
  return [
    `seeds       ${seeds} (${perSecond(seeds, began)}/s)`,
    `events      ${of('events')} (${perSecond(of('events'), began)}/s)`,
    `calls       ${of('calls')}: ${rows('state:')}`,
    `sends       ${of('sends')}, effects ${of('effects')}`,
    `lives       ${of('lives')} of processes, ${of('flushes')} flushes`,
    `incidents   ${rows('incident:')}`,
    `people      ${rows('act:')}, settled by hand: ${rows('person:')}`,
    `approvals   ${rows('question:')}; ${rows('approver:')}`,
    `fenced      ${of('fenced')} lives`,
    `violations  ${violations}`,
  ].join('\n')
}

function perSecond(count: number, began: number): string {
  return ((count * 1000) / (performance.now() - began)).toFixed(0)
}
