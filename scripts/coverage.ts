// What the tests cover, per folder of src, and the floors that it must not fall below.
// `node scripts/coverage.ts` prints the table of the last run, `--suggest` prints floors for scripts/coverage-floors.json.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeLines } from './merge-coverage.ts'
import { type RepoFile, ROOT, repoFiles } from './repo-files.ts'

export interface Counts {
  readonly lines: number
  readonly linesHit: number
  readonly branches: number
  readonly branchesHit: number
}

/** Percentages. */
export interface Floor {
  readonly lines: number
  readonly branches: number
}
export type Floors = Readonly<Record<string, Floor>>

const NOTHING: Counts = { lines: 0, linesHit: 0, branches: 0, branchesHit: 0 }
/** How far below the measured value a suggested floor lies: timing decides which branch a race takes. */
const SLACK = 2

export const LCOV_PATH: string = join(ROOT, 'coverage', 'lcov.info')
const FLOORS_PATH = join(ROOT, 'scripts', 'coverage-floors.json')

/** Counts per file, by its path relative to the root. */
export function readLcov(text: string): ReadonlyMap<string, Counts> {
  const files = new Map<string, Counts>()
  for (const record of text.split('end_of_record')) {
    const path = /^SF:(.*)$/m.exec(record)?.[1]
    if (path === undefined) continue
    const number = (tag: string) => Number(new RegExp(`^${tag}:(\\d+)$`, 'm').exec(record)?.[1] ?? 0)
    files.set(path.replaceAll('\\', '/'), {
      lines: number('LF'),
      linesHit: number('LH'),
      branches: number('BRF'),
      branchesHit: number('BRH'),
    })
  }
  return files
}

/** A file that no test loads counts as not covered, unless it holds types alone. */
export function uncovered(file: RepoFile): Counts {
  const lines = codeLines(file.text).length
  return lines === 0 ? NOTHING : { lines, linesHit: 0, branches: 1, branchesHit: 0 }
}

/** The folder of src a file counts for; files directly in src count for `src`. */
export function folderOf(path: string): string {
  const parts = path.split('/')
  return parts.length > 2 ? parts.slice(0, 2).join('/') : 'src'
}

export function countByFolder(
  covered: ReadonlyMap<string, Counts>,
  files: readonly RepoFile[],
): ReadonlyMap<string, Counts> {
  const folders = new Map<string, Counts>()
  for (const file of files) {
    const own = covered.get(file.path) ?? uncovered(file)
    const sum = folders.get(folderOf(file.path)) ?? NOTHING
    folders.set(folderOf(file.path), {
      lines: sum.lines + own.lines,
      linesHit: sum.linesHit + own.linesHit,
      branches: sum.branches + own.branches,
      branchesHit: sum.branchesHit + own.branchesHit,
    })
  }
  return new Map([...folders].sort(([a], [b]) => a.localeCompare(b)))
}

const percent = (hit: number, all: number): number => (all === 0 ? 100 : (100 * hit) / all)

/** What is below its floor, and every folder or floor that has no counterpart. */
export function belowFloor(folders: ReadonlyMap<string, Counts>, floors: Floors): readonly string[] {
  const wrong: string[] = []
  for (const [folder, counts] of folders) {
    const floor = floors[folder]
    if (floor === undefined) {
      wrong.push(`${folder} has no floor. Fix: add it to scripts/coverage-floors.json`)
      continue
    }
    const lines = percent(counts.linesHit, counts.lines)
    const branches = percent(counts.branchesHit, counts.branches)
    if (lines < floor.lines)
      wrong.push(`${folder}: ${lines.toFixed(1)} % of lines, the floor is ${floor.lines} %`)
    if (branches < floor.branches) {
      wrong.push(`${folder}: ${branches.toFixed(1)} % of branches, the floor is ${floor.branches} %`)
    }
  }
  for (const folder of Object.keys(floors)) {
    if (!folders.has(folder))
      wrong.push(`${folder} has a floor and no files. Fix: remove it from scripts/coverage-floors.json`)
  }
  return wrong
}

export function renderTable(folders: ReadonlyMap<string, Counts>, floors: Floors): string {
  const cell = (value: number | undefined) => (value === undefined ? '-' : value.toFixed(1)).padStart(8)
  const rows = [...folders].map(([folder, counts]) => {
    const floor = floors[folder]
    const lines = percent(counts.linesHit, counts.lines)
    const branches = percent(counts.branchesHit, counts.branches)
    return `${folder.padEnd(18)}${cell(lines)}${cell(floor?.lines)}${cell(branches)}${cell(floor?.branches)}`
  })
  return [`${'coverage, %'.padEnd(18)}   lines   floor branches  floor`, ...rows].join('\n')
}

export function suggestFloors(folders: ReadonlyMap<string, Counts>): Floors {
  const floor = (hit: number, all: number) => Math.max(0, Math.floor(percent(hit, all)) - SLACK)
  return Object.fromEntries(
    [...folders].map(([folder, counts]) => [
      folder,
      { lines: floor(counts.linesHit, counts.lines), branches: floor(counts.branchesHit, counts.branches) },
    ]),
  )
}

/** What the last full run covered. */
export function readCoverage(): ReadonlyMap<string, Counts> {
  const sources = repoFiles().filter((file) => file.path.startsWith('src/') && file.path.endsWith('.ts'))
  return countByFolder(readLcov(readFileSync(LCOV_PATH, 'utf8')), sources)
}

export function readFloors(): Floors {
  return existsSync(FLOORS_PATH) ? (JSON.parse(readFileSync(FLOORS_PATH, 'utf8')) as Floors) : {}
}

if (import.meta.main) {
  if (!existsSync(LCOV_PATH)) {
    console.error('No coverage has been measured. Fix: run `node scripts/test.ts` first')
    process.exit(1)
  }
  const folders = readCoverage()
  if (process.argv.includes('--suggest')) {
    const rows = Object.entries(suggestFloors(folders)).map(
      ([folder, { lines, branches }]) => `  "${folder}": { "lines": ${lines}, "branches": ${branches} }`,
    )
    console.log(`{\n${rows.join(',\n')}\n}`)
  } else {
    console.log(renderTable(folders, readFloors()))
  }
}
