// A process that runs seeds for the tests, one job after the other: see sim-pool.ts.
import { createMutants } from './mutant.ts'
import { MUTATIONS } from './mutation/mutations.ts'
import { planOf } from './plan-of.ts'
import { lineOf, type SeedLine } from './seed-line.ts'
import type { SimDone, SimJob } from './sim-pool.ts'

const mutants = createMutants()

/** One line for each seed, up to the first that breaks an invariant. */
async function run({ mutation: name, start, seeds }: SimJob): Promise<readonly SeedLine[]> {
  const mutation = MUTATIONS.find((one) => one.name === name)
  if (name !== undefined && mutation === undefined) throw new Error(`there is no mutation '${name}'`)
  const simulate = await mutants.simulatorOf(mutation)
  const lines: SeedLine[] = []
  for (let seed = start; seed < start + seeds; seed++) {
    const line = lineOf(await simulate(planOf(seed)))
    lines.push(line)
    if (line.violation !== undefined) break
  }
  return lines
}

function reply(done: SimDone): void {
  process.send?.(done)
}

process.on('message', (job: SimJob) => {
  run(job).then(
    (lines) => reply({ lines }),
    (error: unknown) =>
      reply({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  )
})
// It does not outlive the tests, however they end.
process.on('disconnect', () => process.exit())
