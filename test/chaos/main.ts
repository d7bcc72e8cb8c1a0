// `npm run chaos -- --rounds N --seed S --store sqlite|postgres|both`: kills real processes under load and checks what is left.
import { parseArgs } from 'node:util'
import { held, render } from './report.ts'
import { runChaos } from './run-chaos.ts'
import type { StoreKind } from './schedule.ts'

const USAGE = `Usage: npm run chaos -- [options]
  --rounds N     how many processes are killed, frozen or stopped, for each store (200)
  --seed S       decides who, when, and what goes wrong at the tool (1)
  --store NAME   sqlite, postgres or both (both)
  --clients N    calls at a time (24)
  --patience S   seconds that unknowns may take to be settled afterwards (90)
  --help         this text`

// Ended from outside, it still takes its processes and files with it.
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  process.once(signal, () => process.exit(code))
}

try {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '200' },
      seed: { type: 'string', default: '1' },
      store: { type: 'string', default: 'both' },
      clients: { type: 'string', default: '24' },
      patience: { type: 'string', default: '90' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) console.log(USAGE)
  else if (!(await run(storesOf(values.store)))) process.exitCode = 1

  async function run(stores: readonly StoreKind[]): Promise<boolean> {
    let good = true
    for (const store of stores) {
      const report = await runChaos({
        store,
        rounds: wholeNumber('rounds', values.rounds),
        seed: values.seed,
        clients: wholeNumber('clients', values.clients),
        patienceMs: wholeNumber('patience', values.patience) * 1000,
        say: (line) => console.log(`  ${line}`),
      })
      console.log(render(report))
      good &&= held(report)
    }
    return good
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exitCode = 2
}

function storesOf(name: string): readonly StoreKind[] {
  if (name === 'both') return ['sqlite', 'postgres']
  if (name === 'sqlite' || name === 'postgres') return [name]
  throw new Error(`--store must be sqlite, postgres or both, not '${name}'\n\n${USAGE}`)
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new Error(`--${name} must be a whole number above 0, not '${text}'\n\n${USAGE}`)
}
