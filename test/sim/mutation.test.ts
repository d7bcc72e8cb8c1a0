// Every safety rule is taken out once: without any one of them the simulator must turn red.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { after, describe, it } from 'node:test'
import { mutated } from './mutate.ts'
import { MISSED_AT, MUTATIONS } from './mutation/mutations.ts'
import { runMain } from './run-main.ts'
import type { SeedLine } from './seed-line.ts'
import { createSimPool } from './sim-pool.ts'

/** A rule that is gone for so many seeds without a trace is not watched. Most are missed within ten. */
const SEEDS = 1_000
const JOB_MS = 150_000
const ROOT = new URL('../../', import.meta.url)

const pool = createSimPool()
after(() => pool.close())

describe('mutations', () => {
  it('fit the sources they are made for, each exactly once, and have names of their own', () => {
    for (const mutation of MUTATIONS) {
      for (const { file } of mutation.edits) {
        const source = readFileSync(new URL(file, ROOT), 'utf8')
        assert.notEqual(mutated(mutation, file, source), source, mutation.name)
      }
    }
    assert.equal(new Set(MUTATIONS.map(({ name }) => name)).size, MUTATIONS.length)
  })

  it('are stale when their text is gone or is there twice', () => {
    const [mutation] = MUTATIONS
    assert.ok(mutation !== undefined)
    const [edit] = mutation.edits
    assert.ok(edit !== undefined)
    assert.throws(() => mutated(mutation, edit.file, 'something else'), /is stale: its text is 0 times/)
    assert.throws(() => mutated(mutation, edit.file, edit.find + edit.find), /is stale: its text is 2 times/)
  })
})

describe('many mutations in one process', () => {
  it('see what each sees in a process of its own, and leave the whole simulator as it was', async () => {
    const [first, second] = ['intent-before-send', 'unknown-blocks']
    const own = await runMain(['--json', '--mutation', second, '--seeds', '5'])
    const lines = (await pool.run({ mutation: first, start: 1, seeds: 5 }, JOB_MS)).length
    assert.ok(lines > 0)
    const shared = await pool.run({ mutation: second, start: 1, seeds: 5 }, JOB_MS)
    assert.deepEqual(shared, own.stdout.trim().split('\n').map(parseLine))
    const whole = await runMain(['--json', '--seeds', '3'])
    assert.deepEqual(
      await pool.run({ start: 1, seeds: 3 }, JOB_MS),
      whole.stdout.trim().split('\n').map(parseLine),
    )
  })

  it('a job that cannot be done fails, takes its process with it, and the next one finds another', async () => {
    await assert.rejects(
      pool.run({ mutation: 'no-such-rule', start: 1, seeds: 1 }, JOB_MS),
      /no mutation 'no-such-rule'/,
    )
    await assert.rejects(pool.run({ start: 1, seeds: 1_000_000 }, 1), /took over 1 ms/)
    assert.equal((await pool.run({ start: 1, seeds: 1 }, JOB_MS)).length, 1)
  })
})

function parseLine(line: string): SeedLine {
  return JSON.parse(line) as SeedLine
}

describe('the simulator turns red without', { concurrency: Math.max(2, availableParallelism()) }, () => {
  for (const mutation of MUTATIONS) {
    it(`${mutation.rule}: ${mutation.name}`, { timeout: JOB_MS + 10_000 }, async (t) => {
      const start = MISSED_AT[mutation.name] ?? 1
      const lines = await pool.run({ mutation: mutation.name, start, seeds: SEEDS }, JOB_MS)
      const last = lines.at(-1)
      assert.ok(last?.violation !== undefined, `${lines.length} seeds held without ${mutation.name}`)
      // An internal fault would only show that the mutated code is broken, not that the rule is missed.
      assert.notEqual(last.violation.invariant, 'no-bug', last.violation.message)
      t.diagnostic(`seed ${last.seed}: ${last.violation.invariant}`)
    })
  }
})
