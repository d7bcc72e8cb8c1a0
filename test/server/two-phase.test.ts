// Two-phase calls over HTTP: prepare, then commit or roll back, each once and by whom it belongs to (S26).
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { ALICE, BOB, type EffectHarness, ELSEWHERE, startEffectHarness } from './effect-harness.ts'
import { assertClean } from './harness.ts'

let h: EffectHarness
before(async () => {
  h = await startEffectHarness()
})
after(() => h.close())
beforeEach(() => {
  h.log.length = 0
  h.moods.confirm = 'ok'
})

async function prepare(token = ALICE) {
  const reply = await h.call('reserve', { seats: 2 }, { token })
  assert.equal(reply.status, 200, reply.text)
  assert.equal(reply.body.effect, 'prepared')
  return { id: String(reply.headers['writ-call-id']), commitToken: String(reply.body.commit_token), reply }
}

const commit = (id: string, commit_token: unknown, token: string | null = ALICE) =>
  h.request('POST', `/v1/calls/${id}/commit`, { body: { commit_token }, token })
const rollback = (id: string, token = ALICE) => h.request('POST', `/v1/calls/${id}/rollback`, { token })

test('S26: a prepared call shows a preview and a token, and happens when it is committed', async () => {
  const { id, commitToken, reply } = await prepare()
  assert.deepEqual(reply.body.output, { seats: 2 })
  assert.ok(!reply.text.includes('held-1'), 'the word of the tool stays between Writ and the tool')
  assert.equal(reply.body.final, false)
  assert.deepEqual(h.log, ['prepared'])
  const by = Date.parse(reply.body.commit_by) - Date.now()
  assert.ok(by > 500_000 && by <= 600_000, reply.body.commit_by)
  assert.equal(reply.headers['writ-commit-by'], reply.body.commit_by)
  const shown = await h.request('GET', `/v1/calls/${id}`, { token: ALICE })
  assert.equal(shown.body.answer.commit_by, reply.body.commit_by)
  const done = await commit(id, commitToken)
  assert.equal(done.headers['writ-commit-by'], undefined, 'it is over')
  assert.equal(done.status, 200, done.text)
  assert.deepEqual([done.body.state, done.body.effect, done.body.final], ['succeeded', 'done', true])
  assert.deepEqual(h.log, ['prepared', 'committed'])
})

test('S26: a second commit, and a rollback after it, are their own refusals and do nothing', async () => {
  const { id, commitToken } = await prepare()
  await commit(id, commitToken)
  const again = await commit(id, commitToken)
  assert.deepEqual([again.status, again.body.error.details.failure], [409, 'commit-repeated'])
  assert.equal(again.headers['writ-call-id'], id)
  const back = await rollback(id)
  assert.deepEqual([back.status, back.body.error.details.failure], [409, 'commit-repeated'])
  assert.match(back.body.error.details.fix, /compensate the call/)
  assert.deepEqual(h.log, ['prepared', 'committed'])
})

test('S26: two commits at once make one effect', async () => {
  const { id, commitToken } = await prepare()
  const replies = await Promise.all(Array.from({ length: 8 }, () => commit(id, commitToken)))
  assert.equal(replies.filter(({ status }) => status === 200).length, 1)
  for (const { status, body } of replies) {
    if (status !== 200) assert.deepEqual([status, body.error.details.failure], [409, 'commit-repeated'])
  }
  assert.deepEqual(h.log, ['prepared', 'committed'])
})

test('S26: what is rolled back cannot be committed any more', async () => {
  const { id, commitToken } = await prepare()
  const reply = await rollback(id)
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual([reply.body.final, reply.body.effect], [true, 'not-done'])
  const late = await commit(id, commitToken)
  assert.deepEqual([late.status, late.body.error.details.failure], [409, 'rolled-back'])
  assert.deepEqual(h.log, ['prepared', 'released'])
})

test('S26: tokens that are forged, cut, long, of another call or another caller commit nothing', async () => {
  const { id, commitToken } = await prepare()
  const other = await prepare()
  const flipped = `${commitToken.slice(0, -1)}${commitToken.endsWith('A') ? 'B' : 'A'}`
  for (const wrong of [
    flipped,
    commitToken.slice(0, 10),
    commitToken.slice(0, -1),
    `${commitToken}x`,
    ` ${commitToken}`,
    commitToken.toUpperCase() === commitToken ? commitToken.toLowerCase() : commitToken.toUpperCase(),
    other.commitToken,
    'x'.repeat(4096),
    '../../etc/passwd',
    '\u0000',
  ]) {
    const reply = await commit(id, wrong)
    assert.deepEqual(
      [reply.status, reply.body.error.details.failure],
      [409, 'commit-token-invalid'],
      wrong.slice(0, 20),
    )
    assert.equal(reply.text.includes(commitToken), false, 'the right one is not told')
    assertClean(reply.text)
  }
  for (const wrong of ['', 'x'.repeat(4097), 'x'.repeat(1_000_000), 7, null, [commitToken]]) {
    const reply = await commit(id, wrong)
    assert.equal(reply.status, 422)
    assert.deepEqual(
      reply.body.error.details.violations.map((one: { path: string }) => one.path),
      ['/commit_token'],
    )
  }
  assert.deepEqual(h.log, ['prepared', 'prepared'])
  assert.equal((await commit(id, commitToken)).status, 200, 'none of this has used it up')
})

test('S26: another caller or tenant cannot commit, not even with the token', async () => {
  const { id, commitToken } = await prepare()
  assert.equal((await commit(id, commitToken, BOB)).status, 404)
  assert.equal((await commit(id, commitToken, ELSEWHERE)).status, 404)
  assert.equal((await commit(id, commitToken, null)).status, 401)
  assert.equal((await rollback(id, BOB)).status, 404)
  assert.deepEqual(h.log, ['prepared'])
})

test('S26: a commit whose answer is lost is unknown, is listed, and is never sent again', async () => {
  const { id, commitToken } = await prepare()
  h.moods.confirm = 'lost'
  const lost = await commit(id, commitToken)
  assert.deepEqual([lost.status, lost.body.error.details.failure], [504, 'commit-unknown'])
  assert.equal(lost.body.effect, 'unknown')
  h.moods.confirm = 'ok'
  assert.equal((await commit(id, commitToken)).status >= 400, true)
  assert.equal((await rollback(id)).status >= 400, true)
  assert.deepEqual(h.log, ['prepared', 'committed'])
  const open = await h.request('GET', '/v1/entries', { token: ALICE })
  const [entry] = open.body.entries.filter((one: { call_id: string }) => one.call_id === id)
  assert.equal(entry.state, 'commit-unknown')
  const settled = await h.request('POST', `/v1/calls/${id}/settle`, {
    body: { as: 'done', reason: 'the seats are there' },
  })
  assert.deepEqual([settled.status, settled.body.state], [200, 'succeeded'])
})
