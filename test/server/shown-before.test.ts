// What a tool was shown when it took its work on is taken out of its end, also when nobody else knows it any more: after a
// restart, on another replica, after a rotation.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createMasterKeyRing } from '../../src/credential/key-ring.ts'
import { MasterKeyUnavailable } from '../../src/credential/master-key.ts'
import { passingSource } from '../../src/credential/master-key-source.ts'
import { createShownNotes } from '../../src/credential/shown-note.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { until } from '../pipeline/until.ts'
import { type CallbackPeer, envelopeOf, startCallbackPeer } from '../transport/callback-peer.ts'
import { listenHttp, sendJson } from '../transport/tool-peer.ts'
import { openReplica, type Replica } from './callback-house.ts'

interface House {
  readonly peer: CallbackPeer
  readonly path: string
  /** The server ends, and another one begins on its store. */
  again(): Promise<Replica>
  readonly first: Replica
}

async function openHouse(t: TestContext, auth: JsonObject, secret: JsonObject): Promise<House> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-shown-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const peer = await startCallbackPeer()
  t.after(() => peer.close())
  const path = join(folder, 'ledger.db')
  const store = { kind: 'sqlite', path } as const
  const first = await openReplica(t, store)
  await putSecret(first, secret)
  await first.apply(peer, { auth })
  return {
    peer,
    path,
    first,
    async again() {
      await first.close()
      return openReplica(t, store)
    },
  }
}

async function putSecret({ runtime }: Replica, stringData: JsonObject): Promise<void> {
  const secret = {
    apiVersion: 'writ.dev/v1',
    kind: 'Secret',
    metadata: { name: 'report-api' },
    spec: { stringData },
  }
  const { ok } = await runtime.resources.apply([{ text: JSON.stringify(secret), file: 'secret.json' }])
  assert.ok(ok)
}

/** A call whose work the tool has taken on; its id. */
async function begin({ door }: Replica, requestId: string): Promise<string> {
  const { id } = door.start({
    tool: 'report',
    input: { year: 2026 },
    idempotencyKey: requestId,
    requestId,
  })
  await until(async () => (await door.getCall(id))?.entry?.state === 'sent')
  return id
}

/** What the tool was shown with its request. */
function shownFor({ received }: CallbackPeer): string {
  const post = received.find(({ method }) => method === 'POST')
  return String(post?.headers.authorization).replace('Bearer ', '')
}

async function outputOf({ door }: Replica, id: string): Promise<unknown> {
  const call = await until(async () => {
    const found = await door.getCall(id)
    return found?.state === 'succeeded' ? found : undefined
  })
  return call.answer?.output
}

test('the access token of the first send is taken out of a report that comes after a restart', async (t) => {
  let count = 0
  const tokens = await listenHttp((_request, response) =>
    sendJson(response, {
      access_token: `access-token-number-${++count}`,
      token_type: 'bearer',
      expires_in: 600,
    }),
  )
  t.after(() => tokens.close())
  const auth = {
    profile: 'oauth2_client_credentials',
    secretRef: 'report-api',
    tokenURL: `${tokens.origin}/token`,
  }
  const secret = { client_id: 'robot-client', client_secret: 'the-secret-of-the-robot' }
  const house = await openHouse(t, auth, secret)
  const id = await begin(house.first, 'r-1')
  const token = shownFor(house.peer)
  assert.equal(token, 'access-token-number-1')
  const second = await house.again()
  const job = house.peer.jobs.get('r-1')
  const report = envelopeOf('r-1', { said: `you showed ${token}`, coded: Buffer.from(token).toString('hex') })
  const told = await house.peer.push('r-1', report, { url: second.at(job?.callback?.url) })
  assert.deepEqual(told.body, { accepted: true })
  assert.deepEqual(await outputOf(second, id), { said: 'you showed [redacted]', coded: '[redacted]' })
  assert.ok(count > 1, 'the second process has a token of its own')
  await second.close()
  for (const file of [house.path, `${house.path}-wal`])
    assert.ok(!readIfThere(file).includes(token), `${file} holds it only sealed`)
})

test('what was shown with a send that never got an answer is taken out of a report after a restart', async (t) => {
  let count = 0
  const tokens = await listenHttp((_request, response) => {
    count += 1
    const token = { access_token: `access-token-number-${count}`, token_type: 'bearer', expires_in: 600 }
    sendJson(response, token)
  })
  t.after(() => tokens.close())
  const auth = {
    profile: 'oauth2_client_credentials',
    secretRef: 'report-api',
    tokenURL: `${tokens.origin}/token`,
  }
  const secret = { client_id: 'robot-client', client_secret: 'the-secret-of-the-robot' }
  const house = await openHouse(t, auth, secret)
  house.peer.answer = (request, response) => {
    if (request.method === 'POST') response.destroy()
    return request.method === 'POST'
  }
  const asked = { tool: 'report', input: { year: 2026 }, idempotencyKey: 'r-1', requestId: 'r-1' }
  const first = await house.first.door.call(asked)
  assert.deepEqual([first.state, first.effect], ['unknown', 'unknown'])
  const token = shownFor(house.peer)
  assert.equal(token, 'access-token-number-1')
  const second = await house.again()
  const url = second.at(house.peer.jobs.get('r-1')?.callback?.url)
  const told = await house.peer.push('r-1', envelopeOf('r-1', { said: `you showed ${token}` }), { url })
  assert.deepEqual(told.body, { accepted: true })
  assert.deepEqual(await outputOf(second, first.callId), { said: 'you showed [redacted]' })
  await second.close()
  for (const file of [house.path, `${house.path}-wal`])
    assert.ok(!readIfThere(file).includes(token), `${file} holds it only sealed`)
})

test('a secret that was rotated since is taken out of what the tool says when it is asked after a restart', async (t) => {
  const auth = { profile: 'bearer', secretRef: 'report-api' }
  const house = await openHouse(t, auth, { value: 'first-value-of-it' })
  const id = await begin(house.first, 'r-1')
  await putSecret(house.first, { value: 'second-value-of-it' })
  house.peer.end('r-1', { said: 'first-value-of-it, and second-value-of-it' })
  const second = await house.again()
  // It is asked at once by whoever takes the work up.
  assert.deepEqual(await outputOf(second, id), { said: '[redacted], and [redacted]' })
})

test('a note that was put with other work, or changed, does not open', async () => {
  const world = createSystemWorld()
  const notes = createShownNotes(world, createMasterKeyRing(passingSource(world), world))
  const of = { namespace: 'default', key: 'k-1' }
  const note = (await notes.write(['a-value'], of)) ?? assert.fail('nothing was written')
  assert.deepEqual(await notes.read(note, of), ['a-value'])
  assert.deepEqual(await notes.read(note, { ...of, key: 'k-2' }), [])
  assert.deepEqual(await notes.read(note, { ...of, namespace: 'blue' }), [])
  for (const spoiled of ['', 'x', note.slice(0, -4), note.replace('.', '.A'), note.replace('v1:', 'v1:A')])
    assert.deepEqual(await notes.read(spoiled, of), [])
  // Sealed with a key that is gone: nobody may hear what it cannot be held against.
  for (const foreign of ['.', `gone${note.slice(note.indexOf('.'))}`])
    await assert.rejects(notes.read(foreign, of), MasterKeyUnavailable)
})

function readIfThere(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch {
    return Buffer.alloc(0)
  }
}
