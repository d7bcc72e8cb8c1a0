// `npm run check`: everything that can be said about the project without running it. Any warning fails.
import { availableParallelism } from 'node:os'
import { findingsOf, HOUSE_RULES } from './house-rules.ts'
import { repoFiles } from './repo-files.ts'
import { runTool } from './run-tool.ts'

interface Check {
  readonly name: string
  readonly fix: string
  /** What is wrong, in full; '' when nothing is. */
  run(): Promise<string>
}

/** A tool passes when it exits with 0 and has nothing to warn about. */
function toolCheck(name: string, fix: string, args: readonly string[]): Check {
  return {
    name,
    fix,
    async run() {
      const result = await runTool(args)
      // A tool that warns and passes is not clean; the summary that Biome writes there is no warning.
      const said = result.stderr.replace(/^Checked \d+ files.*$/m, '').trim()
      if (result.code === 0 && said === '') return ''
      return `${result.stdout}${result.stderr}`.trim() || `exit code ${result.code}`
    },
  }
}

const checks: readonly Check[] = [
  toolCheck('types', 'mend the types; `npx tsc -p .` shows them again', [
    'node_modules/typescript/bin/tsc',
    '-p',
    '.',
  ]),
  toolCheck('dead code', 'remove what is unused, or name a new entry point in knip.json', [
    'node_modules/knip/bin/knip.js',
    '--no-progress',
    '--treat-config-hints-as-errors',
  ]),
  toolCheck('lint', 'run `npm run format`, then mend what is left', [
    'node_modules/@biomejs/biome/bin/biome',
    'ci',
    '--error-on-warnings',
    '--max-diagnostics=none',
    '--colors=off',
    '.',
  ]),
  toolCheck('layers', 'move the code to the layer it belongs to; ARCHITECTURE.md has the map', [
    '--test',
    '--test-reporter=dot',
    'test/layers.test.ts',
  ]),
  ...HOUSE_RULES.map((rule): Check => {
    return { name: rule.name, fix: rule.fix, run: async () => findingsOf(rule, files()).join('\n') }
  }),
]

const files = (() => {
  let read: ReturnType<typeof repoFiles> | undefined
  return () => {
    read ??= repoFiles()
    return read
  }
})()

let failed = 0

async function report(check: Check): Promise<void> {
  const began = performance.now()
  const wrong = await check.run()
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  console.log(`${wrong === '' ? 'ok  ' : 'FAIL'}  ${check.name.padEnd(14)} ${seconds.padStart(5)} s`)
  if (wrong === '') return
  failed++
  console.log(`\n${wrong}\n\n  fix: ${check.fix}\n`)
}

const waiting = [...checks]
const lanes = Array.from({ length: Math.min(4, Math.max(2, availableParallelism())) }, async () => {
  for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) await report(check)
})
await Promise.all(lanes)
if (failed > 0) {
  console.log(`${failed} of ${checks.length} checks failed`)
  process.exitCode = 1
}
