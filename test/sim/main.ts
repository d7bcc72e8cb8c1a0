// `npm run sim -- --seeds N --start S`: runs seeds and stops at the first that breaks an invariant.
// A mutation has to be in place before the product is loaded, so what uses the product is imported below.
import { parseArgs } from 'node:util'
import { registerMutation } from './mutate.ts'
import { MUTATIONS } from './mutation/mutations.ts'

const USAGE = `Usage: npm run sim -- [options]
  --seeds N         how many seeds to run (1000)
  --start S         the first of them (1); also --from
  --keep-going      go on after a seed that fails, and only name it
  --verbose         print every event
  --asks a1,a4      only these asks of the plan
  --incidents 0,2   only these incidents of the plan, by position; none with ''
  --without WHAT    leave out person, sagas, grants, or several: person,sagas
  --mutation NAME   without one safety rule
  --json            one line of JSON for each seed
  --help            this text, and the names of all mutations`

try {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '1000' },
      start: { type: 'string' },
      from: { type: 'string' },
      'keep-going': { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
      asks: { type: 'string' },
      incidents: { type: 'string' },
      without: { type: 'string' },
      mutation: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(
      `${USAGE}\n\nMutations:\n${MUTATIONS.map(({ name, rule }) => `  ${rule.padEnd(6)} ${name}`).join('\n')}`,
    )
  } else {
    const mutation = MUTATIONS.find(({ name }) => name === values.mutation)
    if (values.mutation !== undefined && mutation === undefined) {
      throw new Error(`there is no mutation '${values.mutation}'`)
    }
    if (mutation !== undefined) registerMutation(mutation)
    const { runSeeds } = await import('./run-seeds.ts')
    const held = await runSeeds({
      seeds: wholeNumber('seeds', values.seeds, 1),
      start: wholeNumber('start', values.start ?? values.from ?? '1', 0),
      keepGoing: values['keep-going'],
      verbose: values.verbose,
      json: values.json,
      ...(values.asks === undefined ? {} : { asks: values.asks.split(',') }),
      ...(values.incidents === undefined ? {} : { incidents: positions(values.incidents) }),
      ...(values.without === undefined ? {} : { without: values.without.split(',') }),
      ...(values.mutation === undefined ? {} : { mutation: values.mutation }),
    })
    if (!held) process.exitCode = 1
  }
} catch (error) {
  console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`)
  process.exitCode = 2
}

function wholeNumber(name: string, text: string, least: number): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new Error(`--${name} must be a whole number of at least ${least}, not '${text}'`)
}

function positions(text: string): readonly number[] {
  return text === '' ? [] : text.split(',').map((one) => wholeNumber('incidents', one, 0))
}
