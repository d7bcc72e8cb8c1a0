// Reports of tools about long work: signed, on any replica, and counted once (S28, S36).
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../src/util/json.ts'
import { until } from '../pipeline/until.ts'
import { startPostgres } from '../postgres/server.ts'
import {
  type CallbackPeer,
  envelopeOf,
  type PushChange,
  startCallbackPeer,
} from '../transport/callback-peer.ts'
import { ADMIN, openReplica, type Replica } from './callback-house.ts'

const ASK = { tool: 'report', input: { year: 2026 }, idempotencyKey: 'k' }

async function openPeer(t: TestContext): Promise<CallbackPeer> {
  const peer = await startCallbackPeer()
  t.after(() => peer.close())
  return peer
}

async function house(t: TestContext, spec: JsonObject = {}) {
  const peer = await openPeer(t)
  const replica = await openReplica(t, { kind: 'memory' })
  await replica.apply(peer, spec)
  return { peer, replica, begin: (requestId: string) => begin(replica, peer, requestId) }
}

/** A call whose work the tool has taken on, and has told nobody the end of. */
async function begin(replica: Replica, peer: CallbackPeer, requestId: string) {
  const handle = replica.door.start({ ...ASK, requestId, idempotencyKey: requestId })
  const answer = handle.answer()
  // Or it is past its deadline by now.
  const taken = ['sent', 'unknown']
  await until(async () => taken.includes((await replica.door.getCall(handle.id))?.entry?.state ?? ''))
  const push = (body?: Parameters<CallbackPeer['push']>[1], change: PushChange = {}) =>
    peer.push(requestId, body, { url: replica.at(peer.jobs.get(requestId)?.callback?.url), ...change })
  return { id: handle.id, answer, push }
}

test('a report ends the call at once; the same one again is answered politely and changes nothing', async (t) => {
  const { peer, replica, begin } = await house(t)
  const call = await begin('r-1')
  assert.deepEqual(await call.push(envelopeOf('r-1', { pages: 2 })), {
    status: 200,
    body: { accepted: true },
  })
  const { state, output, effect } = await call.answer
  assert.deepEqual([state, output, effect], ['succeeded', { pages: 2 }, 'done'])
  for (const again of [envelopeOf('r-1', { pages: 2 }), envelopeOf('r-1', { pages: 99 })]) {
    assert.deepEqual(await call.push(again), {
      status: 200,
      body: { accepted: false, reason: 'already settled' },
    })
  }
  assert.deepEqual((await replica.door.getCall(call.id))?.answer?.output, { pages: 2 })
  assert.deepEqual(replica.ended, [`${call.id} succeeded`])
  assert.equal(peer.jobs.get('r-1')?.polls, 0)
})

test('a report may come in any of the three dialects, and one that is no end is only read', async (t) => {
  const { begin } = await house(t)
  const legacy = await begin('r-legacy')
  assert.equal((await legacy.push({ request_id: 'r-legacy', status: 'success', result: 1 })).status, 200)
  assert.equal((await legacy.answer).output, 1)
  const late = await begin('r-late')
  for (const status of ['pending', 'running']) {
    assert.equal((await late.push({ request_id: 'r-late', status, progress: 0.5 })).status, 202)
  }
  const broken = await late.push({ request_id: 'r-late', what: 'is this' })
  assert.equal(broken.status, 422, JSON.stringify(broken.body))
  assert.equal((await late.push(envelopeOf('another', 1))).status, 422)
  assert.equal(
    (await late.push({ request_id: 'r-late', status: 'error', error: { code: 'invalid_input' } })).status,
    200,
  )
  const { state, effect } = await late.answer
  assert.deepEqual([state, effect], ['failed', 'not-done'])
})

test('every forgery is refused with the same words, and ends nothing', async (t) => {
  const { peer, replica, begin } = await house(t)
  const mine = await begin('r-1')
  const other = await begin('r-2')
  const now = Math.floor(Date.now() / 1000)
  const body = envelopeOf('r-1', 'forged')
  const url = replica.at(peer.jobs.get('r-1')?.callback?.url)
  const forgeries: Record<string, PushChange> = {
    'no token': { token: '' },
    'another token': { token: 'x'.repeat(43) },
    'the token of another call': { token: peer.jobs.get('r-2')?.callback?.token ?? '' },
    'the address of another call': { url: replica.at(peer.jobs.get('r-2')?.callback?.url) },
    'no signature': { signature: '' },
    'a signature of another kind': { signature: `v0=${'0'.repeat(64)}` },
    'a signature that is too short': { signature: 'v1=00' },
    'a stale time': { time: now - 301 },
    'a time to come': { time: now + 302 },
    'no time': { time: '' },
    'a time that is none': { time: '1e9' },
    'a call that is not there': { url: url.replace(/[0-9a-f-]{36}/, '01890000-0000-7000-8000-000000000001') },
    'what is no id': { url: url.replace(/[0-9a-f-]{36}/, 'nonsense') },
    'another namespace': { url: `${url}?namespace=other` },
    'what is no namespace': { url: `${url}?namespace=..%2F` },
  }
  const said = new Set<string>()
  for (const [name, change] of Object.entries(forgeries)) {
    const { status, body: answer } = await mine.push(body, change)
    assert.equal(status, 401, name)
    const { code, message, details } = answer.error as { code: string; message: string; details: JsonObject }
    said.add(JSON.stringify([code, message, details]))
  }
  assert.equal(said.size, 1, [...said].join('\n'))
  assert.match([...said][0] ?? '', /callback-invalid/)
  const signedElsewhere = await mine.push(body, {
    raw: JSON.stringify(body),
    signature: `v1=${'a'.repeat(64)}`,
  })
  assert.equal(signedElsewhere.status, 401)
  assert.equal((await replica.door.getCall(mine.id))?.state, 'running')
  assert.equal((await replica.door.getCall(other.id))?.state, 'running')
})

test('a body that is too large, compressed or no JSON is refused', async (t) => {
  const peer = await openPeer(t)
  const replica = await openReplica(t, { kind: 'memory' }, { bodyLimit: 2048 })
  await replica.apply(peer)
  const call = await begin(replica, peer, 'r-1')
  assert.equal((await call.push(envelopeOf('r-1', 'x'.repeat(4096)))).status, 413)
  assert.equal((await call.push(null, { headers: { 'content-encoding': 'gzip' } })).status, 415)
  assert.equal((await call.push(null, { headers: { 'content-type': 'text/plain' } })).status, 415)
  assert.equal((await call.push(null, { raw: `{"cut": [1, 2` })).status, 422)
  assert.equal((await replica.door.getCall(call.id))?.state, 'running')
})

test('the token is for the tool alone: no record, answer, log or evidence has it, also where the tool echoes it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'writ-callback-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const peer = await openPeer(t)
  const path = join(folder, 'ledger.db')
  const replica = await openReplica(t, { kind: 'sqlite', path })
  await replica.apply(peer)
  const call = await begin(replica, peer, 'r-1')
  const { token = '' } = peer.jobs.get('r-1')?.callback ?? {}
  assert.equal(token.length, 43)
  const base64 = Buffer.from(`<${token}>`).toString('base64')
  const forms = {
    base64: Buffer.from(token).toString('base64'),
    inside: base64,
    hex: Buffer.from(token).toString('hex'),
    encoded: [...token].map((one) => `%${one.charCodeAt(0).toString(16)}`).join(''),
  }
  const heard = peer.jobs.get('r-1')?.request ?? null
  await call.push(envelopeOf('r-1', { heard, key: `<${token}>`, ...forms }))
  const answer = await call.answer
  const headers = { authorization: `Bearer ${ADMIN}` }
  const shown = await (await fetch(`${replica.url}/v1/calls/${call.id}`, { headers })).text()
  assert.match(shown, /"heard"/)
  const evidence: string[] = []
  for await (const line of replica.runtime.audit.export()) evidence.push(line)
  assert.doesNotMatch(JSON.stringify([answer, shown, evidence]), new RegExp(token))
  const { heard: _, ...rest } = answer.output as JsonObject
  const gone = '[redacted]'
  assert.deepEqual(rest, { key: `<${gone}>`, base64: gone, inside: rest.inside, hex: gone, encoded: gone })
  const left = Buffer.from(String(rest.inside).replace(gone, ''), 'base64').toString('latin1')
  assert.ok(!token.includes(left.slice(2, 6)), left)
  await replica.close()
  for (const file of [path, `${path}-wal`]) {
    assert.equal(readIfThere(file).includes(token), false, file)
  }
})

test('S28: a report after the deadline turns what is unknown into done; of a call that nobody asked for again', async (t) => {
  const { begin, replica } = await house(t, { runtime: { timeout: '1s' } })
  const call = await begin('r-1')
  assert.deepEqual(
    [(await call.answer).state, (await call.answer).failure?.id],
    ['unknown', 'callback-timeout'],
  )
  assert.deepEqual((await call.push(envelopeOf('r-1', 'after all'))).body, { accepted: true })
  const kept = await replica.door.getCall(call.id)
  assert.deepEqual([kept?.state, kept?.effect, kept?.answer?.output], ['succeeded', 'done', 'after all'])
})

test('a tool that reports before its own answer is here ends the call all the same, once', async (t) => {
  const peer = await openPeer(t)
  const replica = await openReplica(t, { kind: 'memory' })
  await replica.apply(peer)
  const pushed: unknown[] = []
  const first = Promise.withResolvers<void>()
  peer.answer = (request, response, job) => {
    if (request.method !== 'POST') return false
    const id = String(job?.request.request_id)
    const url = replica.at(job?.callback?.url)
    peer.push(id, envelopeOf(id, 'fast'), { url }).then(({ body }) => {
      pushed.push(body)
      // One answers that it has taken it on, the other with the end itself.
      if (id === 'r-1') response.writeHead(202).end()
      else
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify(envelopeOf(id, 'slow')))
      first.resolve()
    })
    return true
  }
  for (const requestId of ['r-1', 'r-2']) {
    const answer = await replica.door.call({ ...ASK, requestId, idempotencyKey: requestId })
    assert.deepEqual([answer.state, answer.output], ['succeeded', 'fast'], requestId)
    assert.equal((await replica.door.getCall(answer.callId))?.state, 'succeeded')
  }
  assert.deepEqual(pushed, [{ accepted: true }, { accepted: true }])
  assert.equal(replica.ended.length, 2, replica.ended.join('\n'))
})

test('a report and a question at the same time: one of the two ends it, and one answer is told', async (t) => {
  const { peer, replica } = await house(t, { webhook: { poll: '100ms' } })
  const calls = await Promise.all(
    Array.from({ length: 30 }, async (_, n) => {
      const call = await begin(replica, peer, `race-${n}`)
      peer.end(`race-${n}`, 'asked')
      const [pushed, answer] = await Promise.all([call.push(envelopeOf(`race-${n}`, 'told')), call.answer])
      assert.equal(answer.output, pushed.body.accepted === true ? 'told' : 'asked')
      return call
    }),
  )
  assert.equal(replica.ended.length, calls.length)
})

test('without a public address no tool is told one, and no report is taken', async (t) => {
  const { peer, begin } = await house(t)
  await begin('r-1')
  const { createRuntime } = await import('../../src/runtime.ts')
  const plain = await createRuntime()
  t.after(() => plain.close({ drainMs: 0 }))
  const report = {
    namespace: 'default',
    callId: '01890000-0000-7000-8000-000000000001',
    body: Buffer.from('{}'),
  }
  const result = await plain.report({ ...report, timestamp: undefined, signature: undefined })
  assert.equal(result.kind === 'refused' && result.failure.id, 'callback-invalid')
  assert.equal(peer.jobs.size, 1)
})

test('S36: another replica takes the report, and goes on asking when the first one is gone', async (t) => {
  const database = await startPostgres()
  const replicas: Replica[] = []
  t.after(async () => {
    for (const replica of replicas) await replica.close()
    await database.stop()
  })
  const url = await database.createDatabase()
  const store = { kind: 'postgres', url, leaseMs: 1_000, poolSize: 2 } as const
  const peer = await openPeer(t)
  const one = await openReplica(t, store)
  await one.apply(peer, { webhook: { poll: '100ms' } })
  const two = await openReplica(t, store)
  replicas.push(one, two)

  const told = await begin(one, peer, 'told')
  const elsewhere = two.at(peer.jobs.get('told')?.callback?.url)
  assert.deepEqual((await told.push(envelopeOf('told', 'here'), { url: elsewhere })).body, { accepted: true })
  assert.equal((await told.answer).output, 'here')

  const left = await begin(one, peer, 'left')
  await one.close()
  assert.equal((await left.answer).state, 'running')
  const polls = peer.jobs.get('left')?.polls ?? 0
  await until(() => (peer.jobs.get('left')?.polls ?? 0) > polls)
  assert.equal((await two.door.getCall(left.id))?.state, 'running', 'it is not unknown: the tool is at it')
  peer.end('left', 'asked by the other')
  const kept = await until(async () => {
    const call = await two.door.getCall(left.id)
    return call?.state === 'succeeded' ? call : undefined
  })
  assert.equal(kept.answer?.output, 'asked by the other')
  assert.equal(peer.received.filter(({ method }) => method === 'POST').length, 2, 'nothing was sent again')
})

function readIfThere(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch {
    return Buffer.alloc(0)
  }
}
