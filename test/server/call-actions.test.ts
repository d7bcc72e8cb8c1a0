// What is done about a call after it was made: settle, undo, list what is open, wait for the end.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ALICE, BOB, CLERK, type EffectHarness, ELSEWHERE, startEffectHarness } from './effect-harness.ts'
import type { RequestOptions } from './harness.ts'

let h: EffectHarness
before(async () => {
  h = await startEffectHarness()
})
after(() => h.close())

const act = (id: string, verb: string, options: RequestOptions = {}) =>
  h.request('POST', `/v1/calls/${id}/${verb}`, options)

async function unknownCall(token = ALICE): Promise<string> {
  const reply = await h.call('mail', {}, { token })
  assert.equal(reply.body.effect, 'unknown', reply.text)
  return String(reply.headers['writ-call-id'])
}

const done = { as: 'done', reason: 'seen in the outbox' }

test('S28: settled as done, an unknown call has succeeded, with the output that was told', async () => {
  const id = await unknownCall()
  const reply = await act(id, 'settle', { body: { ...done, output: { sent: 1 } } })
  assert.equal(reply.status, 200, reply.text)
  assert.equal(reply.headers['writ-call-id'], id)
  assert.deepEqual([reply.body.state, reply.body.effect, reply.body.final], ['succeeded', 'done', true])
  const shown = await h.request('GET', `/v1/calls/${id}`)
  assert.deepEqual(shown.body.answer.output, { sent: 1 })
  const again = await act(id, 'settle', { body: done })
  assert.equal(again.status, 409)
  assert.equal(again.body.error.details.failure, 'not-unknown')
  assert.equal(again.body.effect, 'done')
  assert.match(again.body.error.details.fix, /Nothing is left to settle/)
})

test('S28: settled as not-done it has failed, and only its own key sends again', async () => {
  const envelope = { request_id: 'again-1' }
  const first = await h.call('mail', {}, { token: ALICE, envelope })
  const id = String(first.headers['writ-call-id'])
  const reply = await act(id, 'settle', { body: { as: 'not-done', reason: 'nothing in the outbox' } })
  assert.deepEqual([reply.status, reply.body.state, reply.body.effect], [200, 'failed', 'not-done'])
  const before = h.log.length
  await h.call('mail', {}, { token: ALICE, envelope })
  assert.equal(h.log.length, before + 1)
})

test('S28: only an admin, or whoever has call:settle, may settle; who may not see the call finds none', async () => {
  const id = await unknownCall()
  const denied = await act(id, 'settle', { body: done, token: ALICE })
  assert.equal(denied.status, 403)
  assert.deepEqual(denied.body.error.details.missing, ['call:settle'])
  for (const token of [BOB, ELSEWHERE])
    assert.equal((await act(id, 'settle', { body: done, token })).status, 404)
  assert.equal((await act(id, 'settle', { body: done, token: null })).status, 401)
  assert.equal((await h.request('GET', `/v1/calls/${id}`)).body.state, 'unknown')
  assert.equal((await act(id, 'settle', { body: done, token: CLERK })).status, 200)
})

test('S29: what happened is undone once; asking again says that nothing is left', async () => {
  const id = String((await h.call('book', { seat: '12A' }, { token: ALICE })).headers['writ-call-id'])
  const reply = await act(id, 'compensate', { token: ALICE })
  assert.equal(reply.status, 200, reply.text)
  assert.equal(reply.body.effect, 'compensated')
  const again = await act(id, 'compensate', { token: ALICE })
  assert.equal(again.status, 409)
  assert.equal(again.body.error.details.failure, 'not-compensable')
  assert.deepEqual(
    h.log.filter((line) => line.endsWith('12A')),
    ['booked 12A', 'canceled 12A'],
  )
})

test('S29: what declares no way back is refused, and a failed undo asks for a person', async () => {
  const plain = String((await h.call('plain', {}, { token: ALICE })).headers['writ-call-id'])
  const refused = await act(plain, 'compensate', { token: ALICE })
  assert.deepEqual([refused.status, refused.body.error.details.failure], [409, 'not-compensable'])
  h.moods.cancel = 'refuse'
  const id = String((await h.call('book', { seat: '13B' }, { token: ALICE })).headers['writ-call-id'])
  const failed = await act(id, 'compensate', { token: ALICE })
  assert.deepEqual([failed.status, failed.body.error.details.failure], [500, 'compensation-failed'])
  const open = await h.request('GET', '/v1/entries?state=compensation-failed')
  assert.deepEqual(
    open.body.entries.map((entry: { call_id: string }) => entry.call_id),
    [id],
  )
  h.moods.cancel = 'ok'
  assert.equal((await act(id, 'compensate', { token: ALICE })).status, 200)
})

test('S29: what a person has undone by hand is settled as undone, by whom that is given, once and in evidence', async () => {
  h.moods.cancel = 'refuse'
  const id = String((await h.call('book', { seat: '14C' }, { token: ALICE })).headers['writ-call-id'])
  const undone = { as: 'undone', reason: 'canceled by telephone' }
  const early = await act(id, 'settle', { body: undone })
  assert.deepEqual([early.status, early.body.error.details.failure], [409, 'not-unknown'])
  assert.match(early.body.error.details.fix, /compensate the call/)
  await act(id, 'compensate', { token: ALICE })
  h.moods.cancel = 'ok'
  const stuck = await h.request('GET', `/v1/calls/${id}`)
  assert.deepEqual([stuck.body.entry_state, stuck.body.effect], ['compensation-failed', 'done'])
  assert.equal(stuck.body.compensation.error.failure, 'compensation-failed')
  assert.match(stuck.body.compensation.call_id, /^[0-9a-f-]{36}$/)
  const wrong = await act(id, 'settle', { body: done })
  assert.doesNotMatch(wrong.text, /nothing is in question/)
  assert.match(wrong.body.error.details.fix, /settle it as undone/)
  assert.equal((await act(id, 'settle', { body: undone, token: ALICE })).status, 403)
  assert.equal((await act(id, 'settle', { body: { ...undone, output: {} } })).status, 422)
  const reply = await act(id, 'settle', { body: undone })
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(
    [reply.body.state, reply.body.effect, reply.body.entry_state],
    ['succeeded', 'compensated', 'compensated'],
  )
  assert.equal(reply.body.compensation.error, undefined)
  assert.equal((await act(id, 'settle', { body: undone })).status, 409)
  assert.equal((await act(id, 'compensate', { token: ALICE })).status, 409)
  assert.deepEqual(
    h.log.filter((line) => line.endsWith('14C')),
    ['booked 14C'],
  )
  let evidence = ''
  for await (const line of h.runtime.audit.export()) evidence += line
  assert.match(evidence, /compensation\.completed[^\n]*canceled by telephone/)
})

test('S28: a call that is over keeps its answer when its effect is settled; entry_state says how that stands', async () => {
  const reply = await h.call('lost', {}, { token: ALICE })
  const id = String(reply.headers['writ-call-id'])
  assert.deepEqual([reply.body.effect, reply.body.error.retryable], ['unknown', true])
  const [open] = (await h.request('GET', '/v1/entries?limit=1')).body.entries
  assert.deepEqual([open.call_id, open.error.retryable], [id, true])
  const settled = await act(id, 'settle', { body: done })
  assert.deepEqual(
    [settled.status, settled.body.state, settled.body.entry_state],
    [200, 'failed', 'done'],
    settled.text,
  )
})

test('S27: who called a tool that can be asked is told to wait, not to find out; others are', async () => {
  const reply = await h.call('asked', {}, { token: ALICE, envelope: { runtime: { timeout_ms: 200 } } })
  const { details } = reply.body.error
  assert.deepEqual([reply.body.effect, details.asking], ['unknown', true], reply.text)
  assert.match(details.fix, /the tool is being asked: wait/)
  assert.doesNotMatch(details.fix, /find out/)
  const id = String(reply.headers['writ-call-id'])
  h.moods.status = 'done'
  const over = await h.request('GET', `/v1/calls/${id}?wait=30`)
  assert.deepEqual([over.body.state, over.body.entry_state], ['succeeded', 'done'])
  const mail = await h.call('mail', {}, { token: ALICE })
  assert.equal(mail.body.error.details.asking, undefined)
  assert.match(mail.body.error.details.fix, /find out from the tool/)
})

test('a call that never had an effect can be neither settled nor undone nor committed', async () => {
  const id = String((await h.call('echo', {})).headers['writ-call-id'])
  await h.record(id)
  for (const [verb, body, failure] of [
    ['settle', done, 'not-unknown'],
    ['compensate', undefined, 'not-compensable'],
    ['commit', { commit_token: 'x' }, 'commit-token-invalid'],
    ['rollback', undefined, 'commit-token-invalid'],
  ] as const) {
    const reply = await act(id, verb, body === undefined ? {} : { body })
    assert.deepEqual([reply.status, reply.body.error.details.failure], [409, failure], verb)
  }
})

test('open effects are listed newest first with what failed, page by page, to those who may see them', async () => {
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.push(await unknownCall(BOB))
  const seen: string[] = []
  let cursor = ''
  for (let page = 0; page < 10; page++) {
    const reply = await h.request('GET', `/v1/entries?state=unknown&state=reconciling&limit=2${cursor}`, {
      token: BOB,
    })
    assert.equal(reply.status, 200, reply.text)
    for (const entry of reply.body.entries) {
      assert.equal(entry.actor, 'bob')
      assert.deepEqual(entry.tool, { name: 'mail', version: '1.0.0', operation: 'invoke' })
      assert.equal(entry.attempts, 1)
      assert.equal(entry.error.failure, 'tool-crashed')
      assert.match(entry.error.fix, /find out from the tool/)
      assert.ok(Date.parse(entry.since) >= Date.parse(entry.created_at))
      seen.push(entry.call_id)
    }
    if (reply.body.next_cursor === null) break
    cursor = `&cursor=${reply.body.next_cursor}`
  }
  assert.deepEqual(seen, ids.toReversed())
  const all = await h.request('GET', '/v1/entries')
  assert.ok(
    all.body.entries.length > 5 || all.body.entries.some((one: { actor: string }) => one.actor === 'bob'),
  )
  assert.deepEqual((await h.request('GET', '/v1/entries', { token: ELSEWHERE })).body.entries, [])
})

test('a wait ends when the call does, here or by a person, and else after its time', async () => {
  const running = await h.call('wait', { ms: 300 }, { headers: { prefer: 'respond-async' } })
  const start = performance.now()
  const over = await h.request('GET', `/v1/calls/${running.body.id}?wait=30`)
  assert.deepEqual([over.status, over.body.state, over.body.final], [200, 'succeeded', true])
  assert.ok(performance.now() - start < 10_000)

  const id = await unknownCall()
  const waiting = h.request('GET', `/v1/calls/${id}?wait=30`)
  await act(id, 'settle', { body: done })
  assert.equal((await waiting).body.state, 'succeeded')
  assert.ok(performance.now() - start < 10_000)

  const open = await h.request('GET', `/v1/calls/${await unknownCall()}?wait=1`)
  assert.deepEqual([open.status, open.body.state, open.body.final], [200, 'unknown', false])
})

test('what another caller may not see is not waited for, and a wait that is no number is refused', async () => {
  const id = await unknownCall()
  assert.equal((await h.request('GET', `/v1/calls/${id}?wait=30`, { token: BOB })).status, 404)
  for (const wait of ['0', '-1', 'soon', '301', '1.5', '']) {
    const reply = await h.request('GET', `/v1/calls/${id}?wait=${wait}`)
    assert.equal(reply.status, 422, wait)
    assert.equal(reply.body.error.details.violations[0].path, '/query/wait')
  }
})

test('a waiter that leaves is forgotten, and a drain does not wait for what a person must settle', async (t) => {
  const own = await startEffectHarness()
  t.after(() => own.close())
  const id = (await own.call('mail', {})).headers['writ-call-id']
  const waiting = own.request('GET', `/v1/calls/${id}?wait=60`)
  const gone = await own.socket()
  gone.write(`GET /v1/calls/${id}?wait=60 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ALICE}\r\n\r\n`)
  await new Promise((resolve) => setTimeout(resolve, 50))
  gone.socket.destroy()
  const start = performance.now()
  await own.server.drain()
  assert.equal((await waiting).body.state, 'unknown')
  assert.ok(performance.now() - start < 5000)
})

test('a tool that keeps its word is verified, one that does not is refuted, and one that says nothing is refused', async () => {
  const verify = (name: string, body: object, token = ALICE) =>
    h.request('POST', `/v1/tools/${name}/verify`, { body, token })
  const kept = await verify('keyed', { accept: true, input: {} })
  assert.equal(kept.status, 200, kept.text)
  assert.deepEqual([kept.body.verdict, kept.body.tool, kept.body.declared], ['verified', 'keyed', 'keyed'])
  const broken = await verify('fickle', { accept: true })
  assert.equal(broken.body.verdict, 'refuted')
  assert.equal((await h.record(broken.body.call_id)).status, 200)
  const silent = await verify('plain', { accept: true })
  assert.equal(silent.status, 422)
  const unaccepted = await verify('keyed', {})
  assert.equal(unaccepted.status, 422)
  assert.match(unaccepted.body.error.details.fix, /accept/)
  const unseen = await h.request('POST', '/v1/tools/no-such-tool/verify', { body: {} })
  assert.deepEqual([unseen.status, unseen.body.error.details.failure], [404, 'tool-unknown'])
  assert.equal((await verify('no-such-tool', {}, 'nobody')).status, 401)
})
