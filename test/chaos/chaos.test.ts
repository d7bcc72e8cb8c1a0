// A short chaos run over each store: real processes, real kills. `npm run chaos` is the long one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingPostgres } from '../postgres/binaries.ts'
import { held, render } from './report.ts'
import { runChaos } from './run-chaos.ts'
import type { StoreKind } from './schedule.ts'

const ROUNDS = 10
const LIMIT_MS = 240_000

async function run(store: StoreKind): Promise<void> {
  const report = await runChaos({
    store,
    rounds: ROUNDS,
    seed: 'test',
    clients: 12,
    patienceMs: 60_000,
    say: () => {},
  })
  assert.ok(held(report), render(report))
  // A run in which nothing went wrong would show nothing.
  assert.ok(report.counts.lost > 0, 'connections were lost')
  assert.ok(report.unknown.size > 0, 'effects were unknown for a while')
  assert.ok(report.effects.count > ROUNDS, 'effects happened')
}

test(
  'S22, S35: one server over SQLite and its tool, killed and frozen under load, repeat no effect and lose none',
  {
    timeout: LIMIT_MS,
  },
  () => run('sqlite'),
)

test('S35, S38: two replicas over PostgreSQL, killed and frozen past their lease, repeat no effect and lose none', {
  timeout: LIMIT_MS,
}, (t) => {
  const missing = missingPostgres()
  return missing === undefined ? run('postgres') : t.skip(`${missing}. Fix: npm install`)
})
