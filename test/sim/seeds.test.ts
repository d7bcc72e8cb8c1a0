// The invariants over many seeds, in processes of their own: on all cores, and without the cost of coverage.
import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { after, describe, it } from 'node:test'
import { createSimPool } from './sim-pool.ts'

/** After those that sim.test.ts runs. */
const FIRST = 1_001
const CHUNKS = 10
const SEEDS = 100
const CHUNK_MS = 170_000

const pool = createSimPool()
after(() => pool.close())

describe('seeds', { concurrency: Math.max(2, availableParallelism()) }, () => {
  for (let chunk = 0; chunk < CHUNKS; chunk++) {
    const start = FIRST + chunk * SEEDS
    it(`from ${start} to ${start + SEEDS - 1} hold every invariant`, { timeout: 180_000 }, async (t) => {
      const lines = await pool.run({ start, seeds: SEEDS }, CHUNK_MS)
      const { seed, violation } = lines.at(-1) ?? {}
      if (violation !== undefined) {
        assert.fail(`seed ${seed} breaks '${violation.invariant}': ${violation.message}`)
      }
      assert.equal(lines.length, SEEDS)
      const events = lines.reduce((sum, line) => sum + line.events, 0)
      t.diagnostic(`${SEEDS} seeds, ${events} events`)
    })
  }
})
