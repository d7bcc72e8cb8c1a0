// Every effect class, with its tool failing at every moment, over the real HTTP transport: the answer, what the tool saw,
// and what the same key answers afterwards.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from '../../src/contract/answer.ts'
import { createRuntime, type StoreChoice } from '../../src/runtime.ts'
import type { CallerDoor, Runtime } from '../../src/runtime-api.ts'
import { type Cell, CLASSES, type EffectKind, EXPECTED, type Row } from './expected.ts'
import { FENCED_LATE_MS, LATE_MS, type MatrixPeer, MOMENTS, type Moment, startMatrixPeer } from './peer.ts'

const ATTEMPT_MS = 1_000
const BACKOFF_MS = 50
/** Longer than any call of the matrix runs, so that no call itself waits for the end of it. */
const QUIET_MS = 3_000
/** By then everything has settled that settles by itself: late effects, quiet times, and the asks after them. */
const SETTLED_WITHIN_MS = 20_000

type Budget = 'once' | 'twice'

interface Place {
  readonly kind: EffectKind
  readonly moment: Moment
  readonly budget: Budget
}

const PLACES: readonly Place[] = CLASSES.flatMap((kind) =>
  MOMENTS.flatMap((moment) => (['once', 'twice'] as const).map((budget) => ({ kind, moment, budget }))),
)

const slug = (moment: Moment): string => moment.replace(' ', '-')
const pathOf = ({ kind, moment, budget }: Place): string => `/${kind}/${slug(moment)}/${budget}`
const nameOf = ({ kind, moment, budget }: Place): string => `${kind}-${slug(moment)}-${budget}`

function manifestOf(place: Place, peer: MatrixPeer): string {
  const { kind, moment, budget } = place
  const origin = moment === 'before send' ? peer.closedOrigin : peer.origin
  const base = `${origin}${pathOf(place)}`
  const attempts = budget === 'once' ? 1 : 2
  // Long enough to open the port between the first attempt and the second.
  const backoff = moment === 'before send' ? 10 * BACKOFF_MS : BACKOFF_MS
  return `apiVersion: writ.dev/v1
kind: Tool
metadata: {name: ${nameOf(place)}}
spec:
  type: http
  endpoint: "${base}/act"
  runtime: {timeout: ${ATTEMPT_MS}ms, retry: {max_attempts: ${attempts}, backoff: ${backoff}ms}}
${effectOf(kind, base)}`
}

function effectOf(kind: EffectKind, base: string): string {
  const write = 'class: external-communication'
  const query = `status_query: {method: GET, url: "${base}/status/{key}", state: /state, done: done, not_done: not_done, running: running`
  switch (kind) {
    case 'pure':
      return '  effect: {class: read-only, determinism: pure}\n'
    case 'natural':
      return `  effect: {${write}, determinism: idempotent, idempotency: natural}\n`
    case 'keyed':
      return `  effect: {${write}, determinism: idempotent, idempotency: {keyed: {retention: 1h}}}\n`
    case 'queryable':
      return `  effect: {${write}, ${query}, quiet: ${QUIET_MS}ms}}\n`
    case 'fencing':
      return `  effect: {${write}, ${query}, fencing: true}}\n`
    case 'unqueryable':
      return `  effect: {${write}}\n`
    case 'undeclared':
      return ''
    case 'two-phase': {
      const end = (verb: string) => `${verb}: {method: POST, url: "${base}/${verb}/{token}"}`
      return `  effect: {${write}, two_phase: {${end('commit')}, ${end('rollback')}, deadline: 1h}}\n`
    }
  }
}

interface Asked {
  readonly place: Place
  readonly first: Answer
}

async function start(t: TestContext, store: StoreChoice): Promise<{ peer: MatrixPeer; runtime: Runtime }> {
  const peer = await startMatrixPeer()
  t.after(() => peer.close())
  const runtime = await createRuntime({ store, onWarning: () => {} })
  t.after(() => runtime.close({ drainMs: 0 }))
  const text = PLACES.map((place) => manifestOf(place, peer)).join('---\n')
  const applied = await runtime.resources.apply([{ text, file: 'matrix' }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
  return { peer, runtime }
}

const ask = (door: CallerDoor, place: Place): Promise<Answer> =>
  door.call({ tool: nameOf(place), input: { of: 'the matrix' }, idempotencyKey: 'the-key' })

/** Makes every call once, each with its tool failing at its moment. */
async function askAll(door: CallerDoor, peer: MatrixPeer, runtime: Runtime): Promise<readonly Asked[]> {
  const run = (places: readonly Place[]) =>
    Promise.all(places.map(async (place) => ({ place, first: await ask(door, place) })))
  const closed = PLACES.filter(({ moment }) => moment === 'before send')
  const refusedOnce = await run(closed.filter(({ budget }) => budget === 'once'))
  const twice = closed.filter(({ budget }) => budget === 'twice')
  // The port is opened once every first attempt was refused, and before any second one.
  let refused = 0
  const unlisten = runtime.events.on('attempt:failed', () => {
    refused++
    if (refused === twice.length) peer.open()
  })
  const refusedTwice = await run(twice)
  unlisten()
  return [
    ...refusedOnce,
    ...refusedTwice,
    ...(await run(PLACES.filter(({ moment }) => moment !== 'before send'))),
  ]
}

function cellOf(answer: Answer, peer: MatrixPeer, place: Place): Cell {
  const { sends, effects } = peer.trail(pathOf(place))
  return [answer.state, answer.effect, answer.failure?.retryable === true, sends, effects]
}

/** Asks until the answer is none that becomes another by itself. */
async function askUntilSettled(door: CallerDoor, place: Place, row: Row): Promise<Answer> {
  const until = performance.now() + SETTLED_WITHIN_MS
  for (;;) {
    const answer = await ask(door, place)
    const open = ['unknown', 'reconciling', 'running'].includes(answer.state)
    if (!open || row.again[0] === 'unknown' || performance.now() > until) return answer
    await sleep(100)
  }
}

async function runMatrix(t: TestContext, store: StoreChoice): Promise<void> {
  const { peer, runtime } = await start(t, store)
  // Each by its name: no wildcard covers what nothing is declared of (S41).
  const permissions = PLACES.map((place) => `tool:${nameOf(place)}:invoke`)
  const door = runtime.as({ actor: 'agent-a', permissions })
  const asked = await askAll(door, peer, runtime)
  // What is late has had its effect by now, and nobody has asked again.
  await sleep(LATE_MS)
  const once = asked.filter(({ place }) => place.budget === 'once')
  for (const { place, first } of once) {
    await t.test(`${place.kind}, ${place.moment}: what is answered`, () =>
      assert.deepEqual(cellOf(first, peer, place), EXPECTED[place.kind][place.moment].once, say(first)),
    )
  }
  const again = await Promise.all(
    once.map(async ({ place }) => ({
      place,
      answer: await askUntilSettled(door, place, EXPECTED[place.kind][place.moment]),
    })),
  )
  // Whatever was still held has been let go: it must not have had an effect on top.
  await sleep(FENCED_LATE_MS)
  for (const { place, answer } of again) {
    await t.test(`${place.kind}, ${place.moment}: what the same key answers afterwards`, () =>
      assert.deepEqual(cellOf(answer, peer, place), EXPECTED[place.kind][place.moment].again, say(answer)),
    )
  }
  for (const { place, first } of asked.filter(({ place }) => place.budget === 'twice')) {
    await t.test(`${place.kind}, ${place.moment}: what is sent again by itself`, () =>
      assert.deepEqual(cellOf(first, peer, place), EXPECTED[place.kind][place.moment].twice, say(first)),
    )
  }
}

function say({ state, effect, failure, usage }: Answer): string {
  return `[state, effect, retryable, sends, effects]: ${state}, ${effect}, ${failure?.id}: ${failure?.message}; attempt ${usage.attempt}`
}

test('S22 to S24: each effect class at each moment of failure, in memory', (t) =>
  runMatrix(t, { kind: 'memory' }))

test('S22 to S24: each effect class at each moment of failure, on disk', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'writ-matrix-'))
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return runMatrix(t, { kind: 'sqlite', path: join(folder, 'writ.db') })
})
