// The simulator itself: its invariants hold over some hundreds of seeds, its runs can be repeated, and it sees what it says.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Agenda } from './agenda.ts'
import { AmbientUse, forbidAmbient, settled } from './ambient.ts'
import { createLife } from './life.ts'
import type { Plan } from './plan.ts'
import { planOf } from './plan-of.ts'
import { Random } from './random.ts'
import { runMain } from './run-main.ts'
import type { SeedLine } from './seed-line.ts'
import { shrink } from './shrink.ts'
import { createSimulator, type SimReport, type Simulator } from './simulate.ts'

const SEEDS = 160
/** What is rare comes up in these. */
const RARE = [233, 322, 1244]
const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))

function describeFailure({ seed, violation, last }: SimReport): string {
  return [
    `seed ${seed} breaks '${violation?.invariant}': ${violation?.message}`,
    ...last.slice(-30),
    `run it again: npm run sim -- --seeds 1 --start ${seed} --verbose`,
  ].join('\n')
}

describe('simulator', () => {
  let simulate: Simulator

  before(async () => {
    simulate = await createSimulator()
  })

  it(`holds every invariant over ${SEEDS} seeds, and meets everything that it is there for`, {
    timeout: 240_000,
  }, async () => {
    const seen = new Set<string>()
    for (const seed of [...Array.from({ length: SEEDS }, (_, index) => index + 1), ...RARE]) {
      const report = await simulate(planOf(seed))
      if (report.violation !== undefined) assert.fail(describeFailure(report))
      for (const what of Object.keys(report.counts.seen)) seen.add(what)
    }
    const expected = [
      ...['crash', 'before-commit', 'after-commit', 'crash-before-send', 'crash-after-send'],
      ...['pause', 'restart', 'failed-flush', 'stall', 'wall-set', 'upgrade', 'partition', 'lost-ack'],
      ...[
        'crash-reconciling',
        'crash-prepared',
        'crash-committing',
        'crash-rolling-back',
        'crash-compensating',
      ],
      ...['policy', 'crash-pending', 'crash-approved', 'crash-used'],
    ].map((name) => `incident:${name}`)
    expected.push(
      ...['succeeded', 'failed', 'timed-out', 'canceled', 'invalid', 'running', 'unknown'].map(state),
      ...['prepared', 'reconciling', 'awaiting-approval'].map(state),
      ...['none', 'done', 'not-done', 'unknown', 'pending', 'prepared'].map((name) => `effect:${name}`),
      ...['commit-ok', 'commit-refused', 'rollback-ok', 'compensate-ok', 'compensate-refused'].map(act),
      ...['open-ok', 'abort-ok', 'complete-ok'].map(act),
      'person:ok',
      'fenced',
      ...['key-conflict', 'effect-repeated', 'approval-pending', 'key-expired', 'outcome-unknown'].map(
        failure,
      ),
      ...['rate-limited', 'concurrency-exceeded', 'upstream-throttled', 'upstream-error'].map(failure),
      ...['connect-failed', 'timeout', 'timeout-unknown-commit', 'timeout-before-send'].map(failure),
      ...['intent-not-recorded', 'outcome-not-recorded', 'output-invalid', 'interrupted'].map(failure),
      ...['approval-denied', 'approval-expired', 'approval-stale', 'permission-denied'].map(failure),
      ...['pending', 'approved', 'used', 'denied', 'expired', 'stale', 'canceled'].map(question),
      ...['approved-ok', 'denied-ok', 'delegated-ok', 'grant-ok', 'grant-end-ok'].map(approver),
      ...['approved-approval-closed', 'approved-approval-self', 'approved-approval-expired'].map(approver),
      'replayed',
      'looked-up',
    )
    assert.deepEqual(
      expected.filter((what) => !seen.has(what)),
      [],
    )
  })

  it('gives equal traces for equal seeds, however many turns the event loop takes after an event', {
    timeout: 120_000,
  }, async () => {
    const hashes = new Set<string>()
    for (let seed = 1; seed <= 12; seed++) {
      const first = await simulate(planOf(seed))
      hashes.add(first.hash)
      const again = await simulate(planOf(seed))
      // One turn lets everything run out: were it not enough, the rest would show up here.
      const slower = await simulate(planOf(seed), { turns: 3 })
      assert.deepEqual(again, first)
      assert.deepEqual(slower, first)
    }
    assert.equal(hashes.size, 12)
  })

  it('gives the same traces in a fresh process, whatever ran before', async () => {
    const { code, stdout, stderr } = await runMain(['--json', '--seeds', '6', '--start', '7'])
    assert.equal(code, 0, stderr)
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as SeedLine)
    assert.equal(lines.length, 6)
    for (const { seed, hash, events } of lines) {
      const { counts, ...here } = await simulate(planOf(seed))
      assert.deepEqual({ hash: here.hash, events: counts.events }, { hash, events }, `seed ${seed}`)
    }
  })

  it('explains a seed that fails: the invariant, the last events, and how to run it again', async () => {
    const args = ['--mutation', 'intent-before-send', '--seeds', '20']
    const { code, stdout } = await runMain(args)
    assert.equal(code, 1)
    const [, seed] = /seed (\d+) breaks 'intent-first'/.exec(stdout) ?? []
    assert.ok(seed !== undefined, stdout)
    assert.match(stdout, /VIOLATION of intent-first/)
    const small = /run the smaller one: +npm run sim -- (.*)/.exec(stdout)?.[1]?.split(' ') ?? []
    assert.ok(small.includes('--asks'), stdout)
    const again = await runMain(small.map((part) => part.replaceAll("'", '')))
    assert.equal(again.code, 1)
    assert.match(again.stdout, new RegExp(`seed ${seed} breaks 'intent-first'`))
  })

  it('says how it is used when it is asked for something else', async () => {
    for (const args of [['--seeds', 'many'], ['--mutation', 'no-such-rule'], ['--fast']]) {
      const { code, stderr } = await runMain(args)
      assert.equal(code, 2, args.join(' '))
      assert.match(stderr, /Usage: npm run sim/)
    }
  })
})

function failure(name: string): string {
  return `failure:${name}`
}

function state(name: string): string {
  return `state:${name}`
}

function question(name: string): string {
  return `question:${name}`
}

function approver(name: string): string {
  return `approver:${name}`
}

function act(name: string): string {
  return `act:${name}`
}

describe('the world of a seed', () => {
  it('forbids what would let the machine in, and allows it again afterwards', async () => {
    const uses: Record<string, () => unknown> = {
      'Date.now()': () => Date.now(),
      'new Date()': () => new Date(),
      'Date()': () => Date(),
      'performance.now()': () => performance.now(),
      'Math.random()': () => Math.random(),
      'globalThis.setTimeout()': () => setTimeout(() => {}, 0),
      'globalThis.setInterval()': () => setInterval(() => {}, 1),
      'globalThis.setImmediate()': () => setImmediate(() => {}),
      'AbortSignal.timeout()': () => AbortSignal.timeout(1),
      'globalThis.fetch()': () => fetch('http://127.0.0.1:1'),
      'crypto.randomUUID()': () => crypto.randomUUID(),
      'node:crypto.randomBytes()': () => randomBytes(1),
      'crypto.subtle.digest()': () => crypto.subtle.digest('SHA-256', new Uint8Array(0)),
      'node:fs/promises.readFile()': () => readFile(MAIN),
    }
    const real = { date: Date, immediate: setImmediate, digest: crypto.subtle.digest, read: readFile }
    const allow = forbidAmbient()
    const refused: string[] = []
    try {
      for (const use of Object.values(uses)) {
        try {
          use()
        } catch (error) {
          if (error instanceof AmbientUse) refused.push(error.message.split(' was used')[0] ?? '')
        }
      }
      // Formatting a time that is known is no look at the clock.
      assert.equal(new Date(0).toISOString(), '1970-01-01T00:00:00.000Z')
      assert.equal(Date.parse('1970-01-01T00:00:01Z'), 1_000)
      assert.ok(new Date(0) instanceof Date)
      await settled()
    } finally {
      allow()
    }
    assert.deepEqual(refused, Object.keys(uses))
    assert.deepEqual(
      { date: Date, immediate: setImmediate, digest: crypto.subtle.digest, read: readFile },
      real,
    )
    assert.ok(Date.now() > 0)
  })

  it('drops everything of a life that crashed: timers, promises, and every finally', async () => {
    const agenda = new Agenda(new Random('test'))
    const network = () => assert.fail('nothing is sent')
    const make = (name: string) =>
      createLife({ name, agenda, wall: { offsetMs: 0 }, random: new Random(name), network })
    const [first, second] = [make('first'), make('second')]
    const ran: string[] = []
    const wait = async (life: typeof first) => {
      try {
        await new Promise<void>((resolve) => life.world.after(10, resolve))
        ran.push(life.name)
      } finally {
        ran.push(`${life.name} finally`)
      }
    }
    wait(first)
    wait(second)
    first.dead = true
    while (agenda.step(() => {})) await settled()
    assert.deepEqual(ran, ['second', 'second finally'])
    assert.notEqual(first.world.epoch, second.world.epoch)
  })

  it('holds a life that is paused, and lets go of it in order', async () => {
    const agenda = new Agenda(new Random('test'))
    const network = () => assert.fail('nothing is sent')
    const life = createLife({
      name: 'held',
      agenda,
      wall: { offsetMs: 0 },
      random: new Random('held'),
      network,
    })
    const ran: string[] = []
    for (const ms of [3, 1, 2]) life.world.after(ms, () => ran.push(`${ms} at ${agenda.now}`))
    agenda.after(2, undefined, 'other', () => ran.push(`other at ${agenda.now}`))
    life.held = []
    agenda.after(50, undefined, 'resume', () => agenda.resume(life))
    while (agenda.step(() => {})) await settled()
    assert.deepEqual(ran, ['other at 2', '1 at 50', '2 at 50', '3 at 50'])
  })

  it('makes a failing plan smaller and keeps what is needed to fail', async () => {
    const plan = planOf(3)
    const [, needed] = plan.asks
    assert.ok(needed !== undefined && plan.asks.length > 4)
    const fails: Simulator = async (smaller: Plan) => ({
      seed: plan.seed,
      hash: '',
      last: [],
      counts: { events: 0, calls: 0, sends: 0, effects: 0, lives: 0, flushes: 0, seen: {} },
      ...(smaller.asks.includes(needed)
        ? { violation: { invariant: 'truth', message: 'wrong' } as const }
        : {}),
    })
    const small = await shrink(fails, plan, await fails(plan))
    assert.deepEqual(small.plan.asks, [needed])
    assert.deepEqual(small.plan.incidents, [])
  })
})
