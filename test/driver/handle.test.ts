// Work that a tool has taken on: its handle is durable, and it is taken up again after a crash instead of being unknown (S36).
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createCatalog } from '../../src/catalog/catalog.ts'
import { createCall } from '../../src/contract/call-options.ts'
import { createCaller } from '../../src/contract/caller.ts'
import { reconcile } from '../../src/driver/reconcile.ts'
import { createRecovery } from '../../src/driver/recover.ts'
import { type DriverKit, startTimers } from '../../src/driver/timers.ts'
import { createEvents } from '../../src/event/event.ts'
import { createFlights } from '../../src/ledger/flight.ts'
import { createLedger } from '../../src/ledger/ledger.ts'
import { createAdmission } from '../../src/pipeline/admission.ts'
import { attach } from '../../src/pipeline/handle.ts'
import { createOrphans } from '../../src/pipeline/orphans.ts'
import { receive } from '../../src/pipeline/receive.ts'
import { createRefusals } from '../../src/pipeline/refusals.ts'
import { runCall } from '../../src/pipeline/run-call.ts'
import type { CallResult } from '../../src/pipeline/stages.ts'
import { API_VERSION } from '../../src/resource/document.ts'
import { isOfKind, readManifestValue } from '../../src/resource/manifest.ts'
import { resolveTool } from '../../src/resource/resolve-tool.ts'
import { createWorld } from '../../src/runtime.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Reply, Transport } from '../../src/transport/transport.ts'
import { Abort } from '../../src/util/abort.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { ungoverned } from '../pipeline/ungoverned.ts'
import { until } from '../pipeline/until.ts'

const CALLER = createCaller({ actor: 'a', permissions: ['tool:*:invoke', 'capability:*'] })
const MANIFEST = {
  apiVersion: API_VERSION,
  kind: 'Tool',
  metadata: { name: 'slow' },
  spec: {
    type: 'external',
    endpoint: 'http://127.0.0.1:9/',
    effect: { class: 'external-communication' },
    runtime: { timeout: '300ms' },
  },
}

/** A peer that takes work on, as a tool does that answers 202: it is asked for by its handle. */
function longPeer() {
  const sent: string[] = []
  const asked: JsonObject[] = []
  const reply = Promise.withResolvers<Reply>()
  const transport: Transport = {
    type: 'external',
    attempt(send, sink) {
      sink.sending()
      sent.push(send.key)
      sink.accepted({ job: sent.length })
      return new Promise((resolve) => {
        reply.promise.then(resolve)
        send.abort.listen(() =>
          resolve({ kind: 'failure', failure: 'callback-timeout', definite: false, details: {} }),
        )
      })
    },
    attach(handle) {
      asked.push(handle)
      return reply.promise
    },
    close: async () => {},
  }
  return { transport, sent, asked, reply: reply.resolve }
}

async function lives(t: TestContext, transport: Transport) {
  const data = createMemoryData()
  const base = createWorld()
  t.after(() => base.network.destroy())
  const [document] = readManifestValue(MANIFEST, 'slow').documents
  assert.ok(isOfKind(document, 'Tool'))
  const resolved = resolveTool(document.manifest, { profile: 'local', effectDefault: 'declared' })
  const tool = resolved.tool ?? assert.fail(JSON.stringify(resolved.errors))
  return async () => {
    const world = { ...base, epoch: base.id() }
    const store = await createMemoryStore({ world, data })
    const catalog = createCatalog()
    catalog.put(tool)
    const ledger = createLedger(world, store)
    const flights = createFlights<CallResult>(world)
    const kit: DriverKit = {
      world,
      catalog,
      events: createEvents(),
      ledger,
      flights,
      orphans: createOrphans(world, ledger, flights),
      admission: createAdmission(world),
      refusals: createRefusals(world, ledger),
      authority: ungoverned(),
      notify: () => [],
      stopping: new Abort(),
      steadyNow: () => world.clock.now(),
      transport: () => transport,
      store,
      run: (make) =>
        runCall(
          make(() => {}),
          kit,
        ),
      resume: () => assert.fail('it is not sent again'),
    }
    await createRecovery(kit)()
    const timers = startTimers(kit, { reconcile })
    t.after(() => timers.stop())
    const start = () => {
      const made = createCall({ tool: 'slow', input: 1, idempotencyKey: 'k' }, world.id)
      if (!made.ok) return assert.fail(made.failure.message)
      return {
        id: made.call.id,
        done: runCall(
          receive(made.call, CALLER, world, () => {}),
          kit,
        ),
      }
    }
    return { store, start, timers, kit }
  }
}

test('S36: a handle is on record as soon as the tool has given it', async (t) => {
  const peer = longPeer()
  const life = await (await lives(t, peer.transport))()
  const call = life.start()
  const [entry] = await until(async () => {
    const found = await life.store.entries.list({ namespace: 'default', states: ['sent'], limit: 1 })
    return found.length > 0 ? found : undefined
  })
  assert.deepEqual([entry?.outcome?.handle, entry?.attempts], [{ job: 1 }, 1])
  peer.reply({ kind: 'success', output: 'ready', bytes: 7 })
  const answer = await call.done
  assert.deepEqual([answer.state, answer.output, answer.usage.attempt], ['succeeded', 'ready', 1])
})

test('S36: accepted work is taken up by the next life, and its call ends with what the tool says', async (t) => {
  const peer = longPeer()
  const next = await lives(t, peer.transport)
  const first = await next()
  const call = first.start()
  await until(async () => {
    const found = await first.store.entries.list({ namespace: 'default', states: ['sent'], limit: 1 })
    return found.length > 0
  })
  await first.timers.stop()
  const second = await next()
  await until(() => peer.asked.length > 0)
  peer.reply({ kind: 'success', output: 'ready', bytes: 7 })
  const kept = await until(async () => {
    const found = await second.store.calls.get('default', call.id)
    return found?.state === 'succeeded' ? found : undefined
  })
  assert.equal(kept.effect, 'done')
  assert.deepEqual(peer.asked[0], { job: 1 })
  assert.equal(peer.sent.length, 1, 'nothing was sent again')
  await call.done
})

test('S36: work that takes longer than its call is open, asked for, and settled by its end', async (t) => {
  const peer = longPeer()
  const life = await (await lives(t, peer.transport))()
  const call = life.start()
  const answer = await call.done
  assert.deepEqual([answer.state, answer.effect], ['unknown', 'unknown'])
  peer.reply({ kind: 'failure', failure: 'upstream-rejected', definite: true, details: {} })
  const kept = await until(async () => {
    const found = await life.store.calls.get('default', call.id)
    return found?.state === 'unknown' ? undefined : found
  })
  assert.deepEqual([kept.effect, kept.answer?.failure?.retryable], ['not-done', true])
  assert.equal(peer.sent.length, 1)
})

test('S35: a process that may not send at the moment has learned nothing about accepted work', async (t) => {
  const peer = longPeer()
  const life = await (await lives(t, peer.transport))()
  const call = life.start()
  await call.done
  const [entry] = await life.store.entries.list({ namespace: 'default', states: ['unknown'], limit: 1 })
  assert.ok(entry)
  const asks: Transport = {
    ...peer.transport,
    attach: async (_handle, _send, sink) => {
      sink.sending()
      return { kind: 'success', output: 'never', bytes: 1 }
    },
  }
  const kit = { ...life.kit, transport: () => asks, ledger: { ...life.kit.ledger, maySend: false } }
  const target = kit.catalog.kept('default', 'slow', entry.digest)
  assert.ok(target)
  const { sent, reply } = await attach(entry, target, kit)
  assert.deepEqual([sent, reply], [false, undefined])
})
