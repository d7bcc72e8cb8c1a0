// What was written is told: after a kill -9 in the middle, and by one of several replicas over PostgreSQL.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createWorld } from '../../src/runtime.ts'
import { createPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { createSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import type { World } from '../../src/util/world.ts'
import { until } from '../pipeline/until.ts'
import { startPostgres } from '../postgres/server.ts'
import { evidenceOf, makeApproval, startLife, startReceiver, webhookChannel } from './fixture.ts'

async function live(t: TestContext, url: string, open: (world: World) => Promise<Store>) {
  const world = createWorld()
  const life = startLife({ world, store: await open(world), channels: [webhookChannel(url)] })
  t.after(async () => {
    await life.end()
    await world.network.destroy()
  })
  return life
}

describe('after a kill -9 while it was told', () => {
  it('S35: the next life tells it again, with the same id, and then what came after it', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'writ-notify-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'writ.db')
    // The first life is never answered.
    const { received, url } = await startReceiver(t, (_one, at) => (at === 1 ? undefined : { status: 200 }))
    const made = String(Date.now())
    const child = spawn(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        fileURLToPath(new URL('child.ts', import.meta.url)),
        path,
        url,
        made,
      ],
      {
        stdio: ['ignore', 'ignore', 'inherit'],
      },
    )
    t.after(() => child.kill('SIGKILL'))
    await until(() => received.length === 1, 30_000)
    child.kill('SIGKILL')
    await once(child, 'exit')

    const life = await live(t, url, (world) => createSqliteStore({ world, path, onFailed: assert.fail }))
    await until(async () => (await evidenceOf(life)).length === 2)
    const told = received.map(({ headers, body }) => [headers['writ-event-id'], JSON.parse(body).type])
    const { id } = makeApproval()
    assert.deepEqual(told, [
      [`${id}.1`, 'approval.requested'],
      [`${id}.1`, 'approval.requested'],
      [`${id}.2`, 'approval.denied'],
    ])
  })
})

describe('replicas over PostgreSQL', () => {
  it('S35: tell each piece of news once, and in order', async (t) => {
    const server = await startPostgres()
    t.after(() => server.stop())
    const database = await server.createDatabase()
    const { received, url } = await startReceiver(t, () => ({ status: 200 }))
    const open = (world: World) =>
      createPostgresStore({ world, url: database, poolSize: 3, closeMs: 100, onFailed: assert.fail })
    const lives = [await live(t, url, open), await live(t, url, open)]
    const ids = Array.from(
      { length: 12 },
      (_, at) => `019a0000-0000-7000-8000-${String(at).padStart(12, '0')}`,
    )
    for (const [at, id] of ids.entries()) {
      const life = lives[at % 2]
      const approval = makeApproval({ id })
      await life?.tell(approval, 'approval.requested')
      await life?.tell({ ...approval, state: 'denied', revision: 2 }, 'approval.denied')
    }
    const [first] = lives
    assert.ok(first)
    await until(async () => (await evidenceOf(first)).length === 2 * ids.length, 30_000)
    for (const id of ids) {
      const told = received.map(({ body }) => JSON.parse(body)).filter(({ approval }) => approval.id === id)
      assert.deepEqual(
        told.map(({ type }) => type),
        ['approval.requested', 'approval.denied'],
      )
    }
  })
})
