// Asking a tool about an effect (S27): only an answer that can be read for certain is one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCatalog } from '../../src/catalog/catalog.ts'
import { createNetwork } from '../../src/egress/network.ts'
import { askStatus } from '../../src/pipeline/ask.ts'
import { runErrand } from '../../src/pipeline/errand.ts'
import type { Kit } from '../../src/pipeline/kit.ts'
import { createHttpTransport } from '../../src/transport/http.ts'
import { Abort } from '../../src/util/abort.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { loose, resolved } from '../resource/support.ts'
import { makeEntry } from '../store/fixture.ts'
import { listenHttp } from '../transport/tool-peer.ts'

test('S27: states, outputs and everything that is no answer', async (t) => {
  let reply: { status?: number; body: string } = { body: '' }
  const peer = await listenHttp((_received, response) => {
    response.writeHead(reply.status ?? 200, { 'content-type': 'application/json' }).end(reply.body)
  })
  const network = createNetwork()
  t.after(async () => {
    await network.destroy()
    await peer.close()
  })
  const world = createSystemWorld({ network })
  const tool = resolved(
    loose({
      endpoint: `${peer.origin}/run`,
      effect: {
        class: 'external-communication',
        status_query: { url: `${peer.origin}/status/{key}`, done: ['done', 1], output: '/result' },
      },
    }),
  )
  const catalog = createCatalog()
  catalog.put(tool)
  const target = catalog.pinned(tool.namespace, tool.name, tool.digest)
  assert.ok(target)
  let maySend = true
  const transport = createHttpTransport({ world })
  const ledger = {
    failed: undefined,
    get maySend() {
      return maySend
    },
  }
  const kit = { world, catalog, ledger, stopping: new Abort(), transport: () => transport } as unknown as Kit
  const entry = {
    ...makeEntry(world),
    tool: tool.name,
    digest: tool.digest,
    operation: 'invoke',
    attempts: 1,
  }
  const ask = (body: unknown, status?: number) => {
    reply = { body: typeof body === 'string' ? body : JSON.stringify(body), ...(status ? { status } : {}) }
    return askStatus(entry, target, kit)
  }
  assert.deepEqual(await ask({ state: 'done' }), { kind: 'done', hasOutput: false })
  assert.deepEqual(await ask({ state: 1, result: null }), { kind: 'done', output: null, hasOutput: true })
  assert.deepEqual(await ask({ state: 'not_done' }), { kind: 'not-done' })
  assert.deepEqual(await ask({ state: 'running' }), { kind: 'running' })
  const none: readonly (readonly [unknown, number?])[] = [
    [{ state: '1' }],
    [{ state: true }],
    [{ state: 'DONE' }],
    [{ state: ['done'] }],
    [{}],
    ['not json'],
    ['"done"'],
    [{ state: 'done' }, 500],
    [{ state: 'not_done' }, 404],
    [{ state: 'done' }, 302],
  ]
  for (const [body, status] of none) {
    const said = await ask(body, status)
    assert.equal(said.kind, 'no-answer', `${JSON.stringify(body)} ${status ?? ''}`)
  }
  const [asked] = peer.received
  assert.deepEqual([asked?.method, asked?.body], ['GET', ''])
  assert.equal(asked?.path, `/status/${asked?.headers['idempotency-key']}`)

  maySend = false
  const before = peer.received.length
  const errand = await runErrand({ entry, target, operation: '$status' }, kit)
  assert.equal(errand.sent, false)
  assert.equal(errand.reply?.kind === 'failure' && errand.reply.failure, 'intent-not-recorded')
  assert.equal((await askStatus(entry, target, kit)).kind, 'no-answer')
  assert.equal(peer.received.length, before, 'S35: nothing is sent without the lease')
})

test('S27: a tool that never answers is no answer, within the time that is given', async (t) => {
  const peer = await listenHttp(() => {})
  const network = createNetwork()
  t.after(async () => {
    await network.destroy()
    await peer.close()
  })
  const world = createSystemWorld({ network })
  const tool = resolved(
    loose({
      endpoint: `${peer.origin}/run`,
      effect: { class: 'external-communication', status_query: { url: `${peer.origin}/{key}` } },
    }),
  )
  const catalog = createCatalog()
  catalog.put(tool)
  const target = catalog.pinned(tool.namespace, tool.name, tool.digest)
  assert.ok(target)
  const transport = createHttpTransport({ world })
  const parts = { world, catalog, ledger: { maySend: true }, stopping: new Abort() }
  const kit = { ...parts, transport: () => transport } as unknown as Kit
  const entry = { ...makeEntry(world), operation: 'invoke' }
  const said = await askStatus(entry, target, kit, undefined, 30)
  assert.equal(said.kind, 'no-answer')
})
