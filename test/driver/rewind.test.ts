// An old backup is restored: a checkpoint that was kept outside shows it, and nothing starts by mistake.
import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { type AuditOptions, openAudit } from '../../src/driver/open-audit.ts'
import { createEvents } from '../../src/event/event.ts'
import { lastKeptHead } from '../../src/ledger/anchor-target.ts'
import { createRuntime } from '../../src/runtime.ts'
import { createMemoryData, type MemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { collect, KEY, verify } from '../ledger/audit-fixture.ts'
import { newLife } from '../store/fixture.ts'

/** `elsewhere`: an anchor beside the head file. */
async function life(
  data: MemoryData,
  headFile: string,
  acceptRewound = false,
  elsewhere: Pick<AuditOptions, 'anchor'> = {},
) {
  const world = newLife()
  const memory = await createMemoryStore({ world, data })
  // What is kept here outlives the store, as on disk.
  const store: Store = Object.create(memory, { durable: { value: true } })
  const audit = await openAudit(world, store, createEvents(), {
    key: KEY,
    headFile,
    ...elsewhere,
    acceptRewound,
  }).catch(async (error) => {
    await store.close()
    throw error
  })
  const record = { namespace: 'default', callId: 'call', type: 'tool.started' as const, at: 1, body: {} }
  await store.ledger.intend({ namespace: 'default', evidence: [record] })
  return {
    world,
    store,
    audit,
    async end() {
      await audit.close()
      await store.close()
    },
  }
}

/** A ledger with two lives behind it, a copy of how it was after the first, and its anchor. */
async function restored(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'writ-rewind-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const anchor = join(folder, 'audit-head.json')
  const data = createMemoryData()
  await (await life(data, anchor)).end()
  const backup = structuredClone(data)
  const oldHead = join(folder, 'old-head.json')
  copyFileSync(anchor, oldHead)
  await (await life(data, anchor)).end()
  return { anchor, data, backup, oldHead }
}

describe('S39: a store that was set back', () => {
  it('does not start, and the error says since when calls are forgotten and how to go on', async (t) => {
    const { anchor, backup } = await restored(t)
    const kept = lastKeptHead(anchor)
    const found = [...backup.checkpoints.values()].at(-1)
    assert.ok(kept && found)
    await assert.rejects(life(backup, anchor), (error: Error) => {
      assert.match(error.message, /the store was set back/)
      assert.ok(error.message.includes(`number ${kept.number} was made`))
      assert.ok(error.message.includes(`after ${new Date(found.at).toISOString()}`))
      assert.match(error.message, /may be done again/)
      assert.match(error.message, /--accept-rewound/)
      return true
    })
    assert.deepEqual(
      lastKeptHead(anchor),
      kept,
      'what was kept is not overwritten by a start that was refused',
    )
  })

  it('starts when somebody says so, with evidence of it, and once more without saying so', async (t) => {
    const { anchor, backup } = await restored(t)
    const kept = lastKeptHead(anchor)
    const accepted = await life(backup, anchor, true)
    const records = (await accepted.store.evidence.links(accepted.world.epoch, 1, 10)).flatMap(
      (link) => link.records,
    )
    const record = records.find(({ type }) => type === 'audit.rewound-accepted')
    assert.deepEqual(record?.body.kept_checkpoint, { number: kept?.number, hash: kept?.hash, at: kept?.at })
    const { faults } = await verify(await collect(accepted.audit.export()))
    assert.deepEqual(faults, [])
    await accepted.end()
    await (await life(backup, anchor)).end()
  })

  it('is noticed when it has nothing at all', async (t) => {
    const { anchor } = await restored(t)
    await assert.rejects(life(createMemoryData(), anchor), /it has no checkpoint, and number \d+ was made/)
  })

  it('is noticed when it went on by itself under the same numbers', async (t) => {
    const { anchor, backup, oldHead } = await restored(t)
    await (await life(backup, oldHead)).end()
    await (await life(backup, oldHead)).end()
    await assert.rejects(life(backup, anchor), /its checkpoint \d+ is another one than was made/)
  })

  it('is noticed when only the end of a chain is gone', async (t) => {
    const { anchor, data } = await restored(t)
    const [, links] = [...data.links].at(-1) ?? []
    links?.pop()
    await assert.rejects(life(data, anchor), /its chain \S+ ends at batch \d+, and went on to \d+/)
  })

  it('is noticed beside an anchor that only takes, and beside one in a file that was lost', async (t) => {
    const { anchor: headFile, backup, data } = await restored(t)
    const file = `${headFile}.lines`
    for (const anchor of [{ webhook: 'http://127.0.0.1:9/anchor' }, { file }]) {
      await assert.rejects(life(structuredClone(backup), headFile, false, { anchor }), /was set back/)
      // It is kept up to date all the same.
      const before = lastKeptHead(headFile)?.number ?? 0
      await (await life(data, headFile, false, { anchor })).end()
      assert.ok((lastKeptHead(headFile)?.number ?? 0) > before)
    }
    assert.deepEqual(lastKeptHead(file), lastKeptHead(headFile), 'the anchor comes in addition')
  })

  it('is noticed by the anchor where the head file was set back as well', async (t) => {
    const { anchor: headFile, data, oldHead } = await restored(t)
    const anchor = { file: `${headFile}.lines` }
    await (await life(data, headFile, false, { anchor })).end()
    const copy = structuredClone(data)
    const kept = `${headFile}.copy`
    copyFileSync(headFile, kept)
    await (await life(data, headFile, false, { anchor })).end()
    await assert.rejects(life(copy, kept, false, { anchor }), /was set back/)
    await assert.rejects(life(copy, oldHead, false, { anchor }), /was set back/)
    await (await life(copy, oldHead, true, { anchor })).end()
    await (await life(copy, oldHead, false, { anchor })).end()
  })

  it('is not seen in a store that went on since', async (t) => {
    const { data, oldHead } = await restored(t)
    const before = lastKeptHead(oldHead)?.number ?? assert.fail()
    await (await life(data, oldHead)).end()
    assert.ok((lastKeptHead(oldHead)?.number ?? 0) > before)
  })

  it('is not looked for where nothing was kept', async (t) => {
    const { anchor, data } = await restored(t)
    rmSync(anchor)
    await (await life(data, anchor)).end()
    const first = lastKeptHead(anchor)?.number ?? assert.fail()
    writeFileSync(anchor, '')
    await (await life(data, anchor)).end()
    assert.ok((lastKeptHead(anchor)?.number ?? 0) > first)
  })
})

describe('S39: a database file that was set back', () => {
  for (const kind of ['webhook', 'file'] as const) {
    it(`is noticed by the head beside it, whatever else a program anchors with (${kind})`, async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'writ-rewind-'))
      t.after(() => rmSync(folder, { recursive: true }))
      const path = join(folder, 'writ.db')
      let starts = 0
      const run = async () => {
        starts += 1
        // A file that is new each time knows as little as an address.
        const anchor =
          kind === 'webhook'
            ? { webhook: 'http://127.0.0.1:9/anchor' }
            : { file: join(folder, `anchor-${starts}`) }
        const runtime = await createRuntime({ store: { kind: 'sqlite', path }, audit: { anchor } })
        await runtime.close()
      }
      await run()
      copyFileSync(path, `${path}.backup`)
      await run()
      for (const part of ['', '-wal', '-shm']) rmSync(`${path}${part}`, { force: true })
      copyFileSync(`${path}.backup`, path)
      await assert.rejects(run(), /the store was set back/)
    })
  }
})
