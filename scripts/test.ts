// `node scripts/test.ts [FILE ...]`: runs all tests, or those named, with coverage; a full run holds the floors.

import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { belowFloor, LCOV_PATH, readCoverage, readFloors, renderTable } from './coverage.ts'
import { mergeCoverage } from './merge-coverage.ts'
import { ROOT } from './repo-files.ts'

/** One test may take this long; the watchdog bounds a file, and this process the whole run. */
const TEST_MS = 60_000
const RUN_MS = 40 * 60_000
/** The closing lines of the runner. They are held back, so that they are the last thing on the screen. */
const CLOSING = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/

const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const isFull = named.length === 0
const files = (isFull ? globSync('test/**/*.test.ts', { cwd: ROOT }) : named)
  .map((path) => resolve(ROOT, path))
  .sort()
if (files.length === 0) {
  console.error('No test files found. Fix: run this from a complete checkout, or name files that exist')
  process.exit(1)
}

// A person gets every test as it ends; a log gets one line per file, what failed and what was skipped.
const isWatched = process.stdout.isTTY === true && process.env.CI === undefined
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`

const shared = mkdtempSync(join(tmpdir(), 'writ-test-'))
process.on('exit', () => rmSync(shared, { recursive: true, force: true }))
const folderFor = (name: string): string => {
  const folder = join(shared, name)
  mkdirSync(folder)
  return folder
}
// PostgreSQL runs as another user where this one is root: it has to get to its part.
chmodSync(shared, 0o711)
// A run that is stopped takes its test processes with it: one that lived on would write to the removed folder.
const stopped = new AbortController()
for (const [name, number] of [
  ['SIGINT', 2],
  ['SIGTERM', 15],
] as const) {
  process.once(name, () => {
    process.exitCode = 128 + number
    stopped.abort()
  })
}
// All of them load the same sources: what was made of one is kept for the next, which saves a third of the time.
process.env.NODE_COMPILE_CACHE = folderFor('compiled')
// The servers that tests start share their programs and the cluster that they begin with: see test/postgres/cluster.ts.
process.env.WRIT_TEST_POSTGRES = folderFor('postgres')
const warm = fileURLToPath(new URL('warm-tests.ts', import.meta.url))
spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', warm, ...files], { stdio: 'inherit' })
// Every process that the tests start writes here what it ran, when it ends; one that is killed writes nothing. Node hands
// the variable on to children even where a test gives them an environment of their own.
const raw = folderFor('coverage')
process.env.NODE_V8_COVERAGE = raw

const stream = run({
  files,
  cwd: ROOT,
  // Two more than there are cores: most files wait for processes and timers for a good part of their time.
  concurrency: availableParallelism() + 2,
  timeout: TEST_MS,
  signal: AbortSignal.any([AbortSignal.timeout(RUN_MS), stopped.signal]),
  execArgv: ['--import', fileURLToPath(new URL('test-watchdog.ts', import.meta.url))],
})

const screen = new spec()
screen.pipe(process.stdout)

const closing: Parameters<typeof screen.write>[0][] = []
let failed = false

for await (const event of stream) {
  const { type, data } = event
  if (type === 'test:diagnostic' && CLOSING.test(data.message)) {
    closing.push(event)
    continue
  }
  if (type === 'test:fail' && data.todo === undefined) failed = true
  if (type === 'test:summary' && data.file !== undefined && !isWatched) {
    const { tests, passed } = data.counts
    const path = relative(ROOT, data.file)
    console.log(
      `${data.success ? 'ok  ' : 'FAIL'}  ${path.padEnd(60)} ${passed}/${tests}  ${seconds(data.duration_ms)}`,
    )
  }
  if (type === 'test:pass' && data.skip !== undefined && !isWatched) {
    console.log(`skip  ${data.name}: ${data.skip === true ? 'no reason given' : data.skip}`)
  }
  const quiet = type === 'test:pass' || type === 'test:start' || type === 'test:summary'
  if (isWatched || !quiet) screen.write(event)
}
if (stopped.signal.aborted) process.exit()

const began = performance.now()
const merged = mergeCoverage(raw, ROOT)
mkdirSync(dirname(LCOV_PATH), { recursive: true })
writeFileSync(LCOV_PATH, merged.lcov)
const torn = merged.torn === 0 ? '' : `; ${merged.torn} more were killed while they wrote theirs`
console.log(
  `\ncoverage of ${merged.processes} processes merged in ${seconds(performance.now() - began)}${torn}`,
)
if (merged.changed.length > 0) {
  console.log(
    `Changed while the tests ran, so that their coverage is incomplete: ${merged.changed.join(', ')}. Fix: run the tests again`,
  )
}

if (isFull) {
  const folders = readCoverage()
  const floors = readFloors()
  const wrong = belowFloor(folders, floors)
  console.log(`\n${renderTable(folders, floors)}\n(${relative(ROOT, LCOV_PATH)} has the lines)`)
  for (const line of wrong) console.log(`FAIL  ${line}`)
  if (wrong.length > 0) failed = true
}
console.log()
for (const event of closing) screen.write(event)
screen.end()
await once(screen, 'end')
if (failed) process.exitCode = 1
