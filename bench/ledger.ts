// What the ledger costs: durable writes, replays and recalls, how these change as it grows, and retention beside calls.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createRetention } from '../src/driver/retention.ts'
import type { DriverKit } from '../src/driver/timers.ts'
import { scopeOf } from '../src/ledger/fingerprint.ts'
import { createRuntime, createWorld } from '../src/runtime.ts'
import type { CallerDoor } from '../src/runtime-api.ts'
import { stores } from '../src/store/registry.ts'
import type { Store } from '../src/store/store.ts'
import { Abort } from '../src/util/abort.ts'
import type { World } from '../src/util/world.ts'
import { missingPostgres } from '../test/postgres/binaries.ts'
import { type PostgresServer, startPostgres } from '../test/postgres/server.ts'
import { directUndici, input } from './direct.ts'
import { ACTOR, fill, type KeyOrder, nextKey } from './fill.ts'
import { type Contestant, type Measured, measure, print } from './measure.ts'

export interface LedgerBenchOptions {
  readonly folder: string
  /** A tool over HTTP in a process of its own: what a call costs without a ledger. */
  readonly endpoint: string
  readonly quick: boolean
  /** Up to a million entries; takes many minutes. */
  readonly large: boolean
}

/** A store under test, with a runtime on it. */
interface Bench {
  readonly name: string
  readonly store: Store
  readonly world: World
  readonly door: CallerDoor
  close(): Promise<void>
}

type Open = (name: string) => Promise<Bench>

const TOOL = 'write'
const DAY_MS = 86_400_000

export async function ledgerBench(options: LedgerBenchOptions): Promise<void> {
  const missing = missingPostgres()
  if (missing !== undefined) console.log(`\nwithout PostgreSQL: ${missing}. Fix: npm install`)
  const postgres = missing === undefined ? await startPostgres() : undefined
  const engines: Open[] = [
    (name) => openSqlite(join(options.folder, name), options.endpoint),
    ...(postgres === undefined ? [] : [() => openPostgres(postgres, options.endpoint)]),
  ]
  try {
    await writes(engines, options)
    for (const open of engines) await growth(open, options)
    for (const open of engines) await retention(open, options)
  } finally {
    await postgres?.stop()
  }
}

async function openSqlite(folder: string, endpoint: string): Promise<Bench> {
  mkdirSync(folder)
  const world = createWorld()
  const store = await (await stores.sqlite())({ world, path: join(folder, 'writ.db') })
  return bench('sqlite', store, world, endpoint, async () => rmSync(folder, { recursive: true, force: true }))
}

async function openPostgres(server: PostgresServer, endpoint: string): Promise<Bench> {
  const world = createWorld()
  const store = await (await stores.postgres())({ world, url: await server.createDatabase() })
  return bench('postgres', store, world, endpoint, async () => {})
}

async function bench(
  name: string,
  store: Store,
  world: World,
  endpoint: string,
  release: () => Promise<void>,
): Promise<Bench> {
  // The sweep is measured on its own: the runtime must not erase what is filled in.
  const retention = { keepMs: 3_000 * DAY_MS }
  const runtime = await createRuntime({ world, store: { kind: 'given', store }, retention })
  const text = `apiVersion: writ.dev/v1\nkind: Tool\nmetadata: {name: ${TOOL}}\nspec: {type: http, endpoint: "${endpoint}", effect: {class: external-communication}}\n`
  const applied = await runtime.resources.apply([{ text, file: 'bench' }])
  if (!applied.ok) throw new Error(JSON.stringify(applied.problems))
  return {
    name,
    store,
    world,
    door: runtime.as({ actor: ACTOR, permissions: [`tool:${TOOL}:invoke`] }),
    async close() {
      await runtime.close({ drainMs: 0 })
      await world.network.destroy()
      await release()
    },
  }
}

async function call({ door }: Bench, idempotencyKey: string): Promise<void> {
  const answer = await door.call({ tool: TOOL, input, idempotencyKey })
  if (answer.state !== 'succeeded') throw new Error(JSON.stringify(answer))
}

/** Durable writes and replays at 1, 16 and 64 in flight. */
async function writes(engines: readonly Open[], options: LedgerBenchOptions): Promise<void> {
  const benches = await Promise.all(engines.map((open) => open('writes')))
  const direct = directUndici(options.endpoint, 'plain')
  const contestants: Contestant[] = [direct]
  for (const one of benches) {
    await call(one, 'replayed')
    contestants.push(
      { name: `durable write, ${one.name}`, run: () => call(one, one.world.id()) },
      { name: `replay, ${one.name}`, run: () => call(one, 'replayed') },
    )
  }
  const lines: Measured[] = []
  for (const inFlight of [1, 16, 64]) {
    const calls = Math.ceil((inFlight === 1 ? 500 : 4_000) / (options.quick ? 10 : 1))
    lines.push(...(await measure(contestants, inFlight, { calls, rounds: 3 })))
  }
  print('ledger: HTTP tool on loopback', lines)
  for (const one of benches) await one.close()
  await direct.close()
}

/** The same store, larger and larger. Each line as a ratio to the smallest size. */
async function growth(open: Open, { quick, large }: LedgerBenchOptions): Promise<void> {
  const sizes = large ? [1_000, 10_000, 100_000, 1_000_000] : quick ? [1_000] : [1_000, 20_000]
  for (const order of ['time-ordered', 'random'] as const) {
    const one = await open(`growth-${order}`)
    const lines: Measured[] = []
    let filled = 0
    for (const size of sizes) {
      const keys = await fill({
        ...one,
        tool: TOOL,
        order,
        count: size - filled,
        settledAt: one.world.clock.now(),
      })
      filled = size
      lines.push(...(await measureGrown(one, order, size, keys, quick)))
    }
    printGrowth(`ledger as it grows: ${one.name}, ${order} keys`, lines)
    await one.close()
  }
}

async function measureGrown(
  one: Bench,
  order: KeyOrder,
  size: number,
  keys: readonly string[],
  quick: boolean,
): Promise<readonly Measured[]> {
  const scope = scopeOf('default', ACTOR, TOOL, 'invoke')
  let next = 0
  const some = () => keys[next++ % keys.length] ?? ''
  await call(one, 'replayed')
  const contestants: Contestant[] = [
    { name: `${size}: durable write`, run: () => call(one, nextKey(order, one.world)) },
    { name: `${size}: replay`, run: () => call(one, 'replayed') },
    { name: `${size}: recall of a known key`, run: () => one.store.entries.find(scope, some()) },
    {
      name: `${size}: recall of a new key`,
      run: () => one.store.entries.find(scope, nextKey(order, one.world)),
    },
  ]
  return measure(contestants, 16, { calls: quick ? 200 : 2_000, rounds: 3 })
}

/** Each line's p50 as a multiple of the same line at the smallest size. */
function printGrowth(title: string, lines: readonly Measured[]): void {
  console.log(`\n${title}`)
  console.log(
    `${'entries: what'.padEnd(38)}${['growth', 'calls/s', 'p50 us', 'p99 us', 'cpu us'].map((head) => head.padStart(10)).join('')}`,
  )
  const what = (name: string) => name.split(': ')[1]
  for (const line of lines) {
    const first = lines.find((other) => what(other.name) === what(line.name)) ?? line
    const cells = [
      (line.p50Us / first.p50Us).toFixed(2),
      line.callsPerSecond.toFixed(0),
      line.p50Us.toFixed(0),
      line.p99Us.toFixed(0),
      line.cpuUs.toFixed(0),
    ]
    console.log(`${line.name.padEnd(38)}${cells.map((cell) => cell.padStart(10)).join('')}`)
  }
}

/** Calls alone, and calls beside a sweep that erases and forgets old entries the whole time. */
async function retention(open: Open, { quick, large }: LedgerBenchOptions): Promise<void> {
  const one = await open('retention')
  const old = one.world.clock.now() - 500 * DAY_MS
  await fill({
    ...one,
    tool: TOOL,
    order: 'time-ordered',
    count: large ? 200_000 : quick ? 2_000 : 20_000,
    settledAt: old,
  })
  const run = () => call(one, one.world.id())
  const calls = quick ? 400 : 4_000
  const alone = await measure([{ name: 'calls alone', run }], 16, { calls, rounds: 1 })
  const sweep = createRetention({ keepMs: DAY_MS, tombstoneMs: DAY_MS }, async () => 0)
  const dueAt = one.world.clock.now()
  const timer = { namespace: '', kind: 'retention', subject: '', dueAt, data: {} } as const
  let over = false
  const began = performance.now()
  // The sweep uses nothing else of its kit.
  const kit: Pick<DriverKit, 'world' | 'store' | 'stopping'> = {
    world: one.world,
    store: one.store,
    stopping: new Abort(),
  }
  const sweeping = sweep(timer, kit as DriverKit).then(() => {
    over = true
    return performance.now() - began
  })
  const beside = await measure([{ name: 'calls beside retention', run }], 16, { calls, rounds: 1 })
  const note = over ? 'retention ended before the calls' : 'retention ran the whole time'
  const took = await sweeping
  print(`retention: ${one.name} (${note}; it took ${(took / 1000).toFixed(1)} s)`, [...alone, ...beside])
  await one.close()
}
