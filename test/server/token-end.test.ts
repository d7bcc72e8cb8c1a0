// How tokens end over real HTTP: revoked at their next request, and outlived by the keys that sign them.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { partsOf } from '../identity/support.ts'
import type { Reply } from './harness.ts'
import { startTokenHarness, type TokenHarness } from './token-harness.ts'

let h: TokenHarness
before(async () => {
  h = await startTokenHarness()
})
after(() => h.close())

const reasonOf = (reply: Reply) => reply.body.error.details.reason

describe('revoking', () => {
  it('token replay: a revoked token is refused at its next request, with the reason and without the token', async () => {
    const { body } = await h.issue({ actor: 'agent-3', roles: ['caller'] })
    assert.equal((await h.whoami(body.token)).status, 200)
    const revoked = await h.request('DELETE', `/v1/tokens/${body.id}?reason=stolen`)
    assert.deepEqual([revoked.status, revoked.body.revoked], [200, `token:${body.id}`])
    assert.ok(Date.parse(revoked.body.until) >= Date.parse(body.expires_at))
    for (let i = 0; i < 3; i++) {
      const reply = await h.call('echo', {}, { token: body.token })
      assert.equal(reply.status, 401)
      assert.equal(reasonOf(reply), 'revoked')
      assert.match(
        String(reply.headers['www-authenticate']),
        /error="invalid_token", error_description="The token was revoked\."/,
      )
      assert.equal(reply.text.includes(body.token), false)
    }
    assert.match(await h.metrics.render(), /writ_tokens_refused_total\{reason="revoked"\} [3-9]/)
  })

  it('all of an actor: those until now are refused, and the next one is good', async () => {
    const before = await Promise.all([1, 2, 3].map(() => h.tokenFor({ actor: 'agent-4', roles: ['caller'] })))
    const other = await h.tokenFor({ actor: 'agent-44', roles: ['caller'] })
    const reply = await h.request('POST', '/v1/tokens/revoke', { body: { actor: 'agent-4', reason: 'gone' } })
    assert.equal(reply.body.revoked, 'tokens:agent-4')
    const next = await h.tokenFor({ actor: 'agent-4', roles: ['caller'] })
    for (const token of before) assert.equal(reasonOf(await h.whoami(token)), 'revoked')
    assert.equal((await h.whoami(next)).status, 200)
    assert.equal((await h.call('echo', {}, { token: next })).status, 200)
    assert.equal((await h.whoami(other)).status, 200)
  })

  it('needs token:write, a reason, and an id that is not the token itself', async () => {
    const { body } = await h.issue({ actor: 'agent-5', roles: ['caller'] })
    assert.equal((await h.request('DELETE', `/v1/tokens/${body.id}`, { token: body.token })).status, 403)
    assert.equal((await h.request('POST', '/v1/tokens/revoke', { body: { actor: 'x' } })).status, 422)
    assert.equal(
      (await h.request('POST', '/v1/tokens/revoke', { body: { actor: 'x', reason: ' ' } })).status,
      422,
    )
    assert.equal((await h.request('DELETE', '/v1/tokens/a.b')).status, 422)
    assert.equal((await h.request('DELETE', `/v1/tokens/${body.id}?reason=%01`)).status, 422)
    assert.equal((await h.whoami(body.token)).status, 200)
  })
})

describe('rotating', () => {
  it('under load loses no request: tokens of the old key and of the new one are good', async () => {
    const tokens = [await h.tokenFor({ actor: 'agent-6', roles: ['caller'] })]
    let going = true
    const statuses: number[] = []
    const load = Array.from({ length: 8 }, async () => {
      for (let i = 0; going; i++) statuses.push((await h.whoami(tokens[i % tokens.length] ?? '')).status)
    })
    const kids = new Set<unknown>()
    for (let i = 0; i < 5; i++) {
      const rotated = await h.request('POST', '/v1/tokens/rotate')
      assert.equal(rotated.status, 200, rotated.text)
      const token = await h.tokenFor({ actor: 'agent-6', roles: ['caller'] })
      assert.equal(partsOf(token).header.kid, rotated.body.key_id)
      kids.add(rotated.body.key_id)
      tokens.push(token)
    }
    going = false
    await Promise.all(load)
    assert.equal(kids.size, 5)
    assert.ok(statuses.length > 8)
    assert.deepEqual(new Set(statuses), new Set([200]))
    assert.match(await h.evidence(), /token\.key-rotated/)
  })

  it('is for the admin alone', async () => {
    const operator = await h.tokenFor({ actor: 'op', kind: 'service', roles: ['operator'] })
    assert.equal((await h.request('POST', '/v1/tokens/rotate', { token: operator })).status, 403)
  })
})
