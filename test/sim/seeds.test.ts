// The invariants over many seeds, in processes of their own: on all cores, and without the cost of coverage.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runMain } from './run-main.ts'
import type { SeedLine } from './run-seeds.ts'

/** After those that sim.test.ts runs. */
const FIRST = 1_001
const CHUNKS = 10
const SEEDS = 75

/** All children load the same sources: they share what V8 made of them. */
const cache = mkdtempSync(join(tmpdir(), 'writ-sim-'))
after(() => rmSync(cache, { recursive: true, force: true }))

describe('seeds', { concurrency: Math.max(2, availableParallelism()) }, () => {
  for (let chunk = 0; chunk < CHUNKS; chunk++) {
    const from = FIRST + chunk * SEEDS
    it(`from ${from} to ${from + SEEDS - 1} hold every invariant`, { timeout: 180_000 }, async (t) => {
      const { code, stdout, stderr } = await runMain(['--json', '--seeds', `${SEEDS}`, '--from', `${from}`], {
        cache,
      })
      const lines = stdout.trim().split('\n').filter(Boolean)
      const last = JSON.parse(lines.at(-1) ?? '{}') as Partial<SeedLine>
      const why =
        last.violation && `seed ${last.seed} breaks '${last.violation.invariant}': ${last.violation.message}`
      assert.equal(code, 0, why ?? stderr)
      assert.equal(lines.length, SEEDS)
      const events = lines.reduce((sum, line) => sum + (JSON.parse(line) as SeedLine).events, 0)
      t.diagnostic(`${SEEDS} seeds, ${events} events`)
    })
  }
})
