// Every safety rule is taken out once, in a process of its own: without any one of them the simulator must turn red.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { mutated } from './mutate.ts'
import type { Mutation } from './mutation/mutation.ts'
import { MISSED_AT, MUTATIONS } from './mutation/mutations.ts'
import { runMain } from './run-main.ts'
import type { SeedLine } from './run-seeds.ts'

/** A rule that is gone for so many seeds without a trace is not watched. Most are missed within ten. */
const SEEDS = 1_000
const CHILD_MS = 150_000
const ROOT = new URL('../../', import.meta.url)

/** All but one source file is the same in every child: they share what V8 made of it. */
const cache = mkdtempSync(join(tmpdir(), 'writ-sim-'))
after(() => rmSync(cache, { recursive: true, force: true }))

interface Child {
  readonly code: number | null
  readonly lines: readonly SeedLine[]
  readonly stderr: string
}

async function runWithout(mutation: Mutation): Promise<Child> {
  const start = String(MISSED_AT[mutation.name] ?? 1)
  const args = ['--json', '--mutation', mutation.name, '--seeds', String(SEEDS), '--start', start]
  const { code, stdout, stderr } = await runMain(args, { timeoutMs: CHILD_MS, cache })
  const lines = stdout.trim().split('\n').filter(Boolean)
  return { code, lines: lines.map((line) => JSON.parse(line) as SeedLine), stderr }
}

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

describe('the simulator turns red without', { concurrency: Math.max(2, availableParallelism()) }, () => {
  for (const mutation of MUTATIONS) {
    it(`${mutation.rule}: ${mutation.name}`, { timeout: CHILD_MS + 10_000 }, async (t) => {
      const { code, lines, stderr } = await runWithout(mutation)
      const last = lines.at(-1)
      assert.equal(stderr, '', `${mutation.name} did not run`)
      assert.equal(code, 1, `${lines.length} seeds held without ${mutation.name}`)
      assert.ok(last?.violation !== undefined)
      // An internal fault would only show that the mutated code is broken, not that the rule is missed.
      assert.notEqual(last.violation.invariant, 'no-bug', last.violation.message)
      t.diagnostic(`seed ${last.seed}: ${last.violation.invariant}`)
    })
  }
})
