// Keys, tokens, verdicts and bodies that no one should send: each its own clear refusal, nothing done.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ALICE, type EffectHarness, startEffectHarness } from './effect-harness.ts'
import { assertClean, type Reply } from './harness.ts'

let h: EffectHarness
before(async () => {
  h = await startEffectHarness()
})
after(() => h.close())

const paths = (reply: Reply): string[] =>
  reply.body.error.details.violations.map((one: { path: string }) => one.path)

describe('keys', () => {
  it('of 0 and of 10,000 characters are refused in the body and in the header', async () => {
    for (const idempotency_key of ['', 'k'.repeat(513), 'k'.repeat(10_000)]) {
      const reply = await h.call('post', { text: 'never' }, { envelope: { idempotency_key } })
      assert.equal(reply.status, 422, String(idempotency_key.length))
      assert.deepEqual(paths(reply), ['/idempotency_key'])
      const header = await h.call(
        'post',
        { text: 'never' },
        { headers: { 'idempotency-key': idempotency_key } },
      )
      assert.equal(header.status, 422)
      assertClean(reply.text)
    }
    const longest = await h.call(
      'post',
      { text: 'longest' },
      { envelope: { idempotency_key: 'k'.repeat(512) } },
    )
    assert.equal(longest.status, 200)
    assert.ok(!h.effects.done.includes('never'))
  })

  it('with control characters are one key each, or refused; never another key', async () => {
    const keys = ['a\tb', 'a\nb', 'a\u007fb', 'a\u0001b', 'a b', 'ab', 'a\u0085b', 'a\u202eb', 'ä', '😀']
    for (const [at, idempotency_key] of keys.entries()) {
      const send = () => h.call('post', { text: `control ${at}` }, { envelope: { idempotency_key } })
      const reply = await send()
      if (reply.status === 422) assert.deepEqual(paths(reply), ['/idempotency_key'])
      else
        assert.deepEqual(
          [reply.status, (await send()).body.replayed],
          [200, true],
          JSON.stringify(idempotency_key),
        )
      assertClean(reply.text)
    }
    for (const idempotency_key of ['a\u0000b', '\ud800', 'a\udc00'])
      assert.equal((await h.call('post', { text: 'never' }, { envelope: { idempotency_key } })).status, 422)
    const done = h.effects.done.filter((text) => text.startsWith('control'))
    assert.equal(new Set(done).size, done.length, 'each at most once')
  })

  it('reused with another payload are a conflict, and with another caller or tool a key of their own', async () => {
    const envelope = { idempotency_key: 'reused-1' }
    assert.equal((await h.call('book', { seat: '20A' }, { envelope, token: ALICE })).status, 200)
    const other = await h.call('book', { seat: '20B' }, { envelope, token: ALICE })
    assert.deepEqual([other.status, other.body.error.details.failure], [409, 'key-conflict'])
    assert.equal((await h.call('book', { seat: '20C' }, { envelope })).status, 200)
    assert.equal((await h.call('plain', {}, { envelope, token: ALICE })).status, 200)
    assert.deepEqual(
      h.log.filter((line) => / 20/.test(line)),
      ['booked 20A', 'booked 20C'],
    )
  })
})

describe('bodies of actions', () => {
  const settle = (id: string, body: unknown, headers = {}) =>
    h.request('POST', `/v1/calls/${id}/settle`, { body: body as object, headers })
  let id: string
  before(async () => {
    id = String((await h.call('mail', {})).headers['writ-call-id'])
  })
  after(async () => {
    assert.equal(
      (await h.request('GET', `/v1/calls/${id}`)).body.state,
      'unknown',
      'none of this has settled it',
    )
  })

  it('are told every violation at once, with its path', async () => {
    const reply = await settle(id, { as: 'perhaps', reason: '', extra: 1 })
    assert.equal(reply.status, 422)
    assert.deepEqual(paths(reply).toSorted(), ['/as', '/extra', '/reason'])
    for (const empty of [await settle(id, {}), await h.request('POST', `/v1/calls/${id}/settle`)]) {
      const messages = empty.body.error.details.violations.map((one: { message: string }) => one.message)
      assert.equal(empty.status, 422)
      assert.match(messages.join(), /'as'.*'reason'/)
    }
    assert.deepEqual(paths(await settle(id, { as: 'DONE', reason: 'x' })), ['/as'])
    assert.deepEqual(paths(await settle(id, { as: 'not-done', reason: 'x', output: {} })), ['/output'])
    assert.deepEqual(paths(await settle(id, { as: 'done', reason: ' \n ' })), ['/reason'])
    assert.deepEqual(paths(await settle(id, { as: 'done', reason: 'a\u0000b' })), ['/reason'])
    assert.deepEqual(paths(await settle(id, { as: 'done', reason: 'x'.repeat(1001) })), ['/reason'])
  })

  it('that are no JSON, no object or of another type are refused', async () => {
    for (const body of [
      '{',
      '[]',
      '"done"',
      'null',
      '{"as":"done","as":"not-done","reason":"x"}',
      '\ufeff{}',
    ])
      assert.ok([400, 422].includes((await settle(id, body)).status), body)
    const form = await settle(id, 'as=done', { 'content-type': 'application/x-www-form-urlencoded' })
    assert.equal(form.status, 415)
    const none = await settle(id, '{"as":"done","reason":"x"}', { 'content-type': undefined })
    assert.equal(none.status, 415)
  })

  it('with 20 MB of output are refused before they are read', async () => {
    const reply = await settle(id, { as: 'done', reason: 'x', output: 'y'.repeat(20 * 1024 * 1024) })
    assert.deepEqual([reply.status, reply.body.error.details.failure], [413, 'input-too-large'])
  })

  it('for a call that is not there, or whose id is none, find nothing', async () => {
    for (const wrong of [
      '019a0000-0000-7000-8000-000000000001',
      'x',
      '%00',
      '..%2f..',
      "'; drop table calls",
    ]) {
      const reply = await settle(encodeURI(wrong), { as: 'done', reason: 'x' })
      assert.equal(reply.status, 404, wrong)
      assertClean(reply.text)
    }
  })

  it('of verify are checked like the others', async () => {
    const verify = (body: object) => h.request('POST', '/v1/tools/keyed/verify', { body })
    assert.deepEqual(paths(await verify({ accept: 'yes', versoin: '1' })).toSorted(), ['/accept', '/versoin'])
    assert.equal((await verify({ version: 'not a range', accept: true })).status >= 400, true)
    assert.equal((await verify({ operation: 'nope', accept: true })).status, 404)
  })
})

describe('queries of entries', () => {
  it('name states that are open, a limit and a cursor of this list', async () => {
    for (const query of [
      'state=done',
      'state=unknown&state=nope',
      'state=',
      'limit=201',
      'limit=x',
      'cursor=x',
      'x=1',
    ]) {
      const reply = await h.request('GET', `/v1/entries?${query}`)
      assert.equal(reply.status, 422, query)
    }
    const calls = Buffer.from('calls:019a0000-0000-7000-8000-000000000001').toString('base64url')
    assert.equal((await h.request('GET', `/v1/entries?cursor=${calls}`)).status, 422)
    const many = 'state=unknown&'.repeat(500)
    assert.equal((await h.request('GET', `/v1/entries?${many}limit=1`)).status, 200)
  })
})
