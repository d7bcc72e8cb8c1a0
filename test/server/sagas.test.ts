// Sagas over HTTP: opened, joined, completed, aborted, and seen by those who may.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ALICE, BOB, type EffectHarness, startEffectHarness } from './effect-harness.ts'
import { assertClean, type RequestOptions } from './harness.ts'

let h: EffectHarness
before(async () => {
  h = await startEffectHarness()
})
after(() => h.close())

const post = (path: string, options: RequestOptions = {}) =>
  h.request('POST', `/v1/sagas${path}`, { token: ALICE, ...options })
const show = (id: string, options: RequestOptions = {}) =>
  h.request('GET', `/v1/sagas/${encodeURIComponent(id)}`, { token: ALICE, ...options })

async function join(saga: string, input: object) {
  const reply = await h.call('book', input, { token: ALICE, envelope: { saga } })
  return String(reply.headers['writ-call-id'])
}

/** The saga, once it is no longer being aborted. */
async function ended(id: string) {
  for (let turn = 0; turn < 500; turn++) {
    const reply = await show(id)
    if (reply.body.state !== 'aborting') return reply.body
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`saga ${id} is still being aborted`)
}

test('S29: a saga is opened with an id of its own or a new one, and can be found there', async () => {
  const minted = await post('')
  assert.equal(minted.status, 201, minted.text)
  assert.equal(minted.headers.location, `/v1/sagas/${minted.body.id}`)
  assert.deepEqual([minted.body.state, minted.body.actor, minted.body.members], ['open', 'alice', []])
  for (const id of ['trip-1', 'a/b:c.d_e', '9', 'x'.repeat(128)]) {
    const reply = await post('', { body: { id } })
    assert.equal(reply.status, 201, id)
    assert.equal((await h.request('GET', String(reply.headers.location), { token: ALICE })).body.id, id)
    assert.equal((await post('', { body: { id } })).status, 200, 'open already')
  }
})

test('an id with odd characters is refused with its path, and names no saga', async () => {
  for (const id of [
    '',
    '.',
    '..',
    'a b',
    'ä',
    'a\u0000b',
    'a\nb',
    '<x>',
    '-a',
    'x'.repeat(129),
    7,
    null,
    {},
  ]) {
    const reply = await post('', { body: { id } })
    assert.equal(reply.status, 422, JSON.stringify(id))
    assert.equal(reply.body.error.details.violations[0].path, '/id')
    assertClean(reply.text)
  }
  for (const id of ['a b', 'ä', 'a\u0000b', '%', '<x>', '-a', '../calls']) {
    assert.equal((await show(id)).status, 404, JSON.stringify(id))
  }
  assert.ok([404, 414].includes((await show('x'.repeat(5000))).status))
})

test('S29: a completed saga keeps what its members did, and takes no more calls', async () => {
  const { id } = (await post('')).body
  const call = await join(id, { seat: '1A' })
  const reply = await post(`/${id}/complete`)
  assert.deepEqual([reply.status, reply.body.state], [200, 'completed'])
  assert.deepEqual(
    reply.body.members.map((one: { call_id: string; state: string }) => [one.call_id, one.state]),
    [[call, 'done']],
  )
  const late = await h.call('book', { seat: '1B' }, { token: ALICE, envelope: { saga: id } })
  assert.deepEqual([late.status, late.body.error.details.failure], [409, 'saga-closed'])
  assert.equal((await post(`/${id}/abort`, { body: { reason: 'too late' } })).status, 409)
})

test('S29: an aborted saga undoes its members, the last one first', async () => {
  const { id } = (await post('')).body
  await join(id, { seat: '2A' })
  await join(id, { seat: '2B' })
  const reply = await post(`/${id}/abort`, { body: { reason: 'the hotel is full' } })
  assert.ok([200, 202].includes(reply.status), reply.text)
  const over = await ended(id)
  assert.deepEqual([over.state, over.reason], ['aborted', 'the hotel is full'])
  for (const member of over.members) {
    assert.equal(member.state, 'compensated')
    assert.ok(member.compensation_call_id)
  }
  assert.deepEqual(
    h.log.filter((line) => / 2[AB]$/.test(line)),
    ['booked 2A', 'booked 2B', 'canceled 2B', 'canceled 2A'],
  )
})

test('S29: a member that fails for good aborts the saga', async () => {
  const { id } = (await post('')).body
  await join(id, { seat: '3A' })
  await join(id, { seat: '3B', fail: true })
  for (let turn = 0; turn < 500 && (await show(id)).body.state === 'open'; turn++)
    await new Promise((resolve) => setTimeout(resolve, 10))
  assert.equal((await ended(id)).state, 'aborted')
  assert.ok(h.log.includes('canceled 3A'))
})

test('another caller sees no saga, joins none and ends none', async () => {
  const { id } = (await post('', { body: { id: 'private-1' } })).body
  assert.equal((await show(id, { token: BOB })).status, 404)
  for (const [path, body] of [
    [`/${id}/complete`, undefined],
    [`/${id}/abort`, { reason: 'x' }],
  ] as const) {
    assert.equal((await post(path, { token: BOB, ...(body === undefined ? {} : { body }) })).status, 404)
  }
  const taken = await post('', { body: { id }, token: BOB })
  assert.equal(taken.status, 409)
  const joined = await h.call('book', { seat: '4A' }, { token: BOB, envelope: { saga: id } })
  assert.equal(joined.status, 409)
  assert.ok(!h.log.includes('booked 4A'))
  const list = await h.request('GET', '/v1/sagas', { token: BOB })
  assert.deepEqual(list.body.sagas, [])
  assert.equal((await post('', { token: null })).status, 401)
})

test('sagas are listed by id, the highest first, page by page and by state', async () => {
  const seen: string[] = []
  let cursor = ''
  for (;;) {
    const reply = await h.request('GET', `/v1/sagas?limit=3${cursor}`, { token: ALICE })
    assert.equal(reply.status, 200, reply.text)
    seen.push(...reply.body.sagas.map((saga: { id: string }) => saga.id))
    if (reply.body.next_cursor === null) break
    cursor = `&cursor=${reply.body.next_cursor}`
  }
  assert.deepEqual(seen, [...new Set(seen)].toSorted().toReversed())
  assert.ok(seen.includes('private-1'))
  assert.ok(seen.includes('a/b:c.d_e'))
  const completed = await h.request('GET', '/v1/sagas?state=completed', { token: ALICE })
  for (const saga of completed.body.sagas) assert.equal(saga.state, 'completed')
  assert.equal(completed.body.sagas.length, 1)
  for (const query of ['state=shut', 'limit=0', 'cursor=nonsense', 'state=open&state=blocked', 'page=2'])
    assert.equal((await h.request('GET', `/v1/sagas?${query}`, { token: ALICE })).status, 422, query)
})
