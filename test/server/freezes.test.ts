// The kill switch over real HTTP (S44).
import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import {
  AGENT,
  ANNA,
  ELSEWHERE,
  type GovernanceHarness,
  OPS,
  startGovernanceHarness,
} from './governance-harness.ts'
import { TOKEN } from './harness.ts'

let h: GovernanceHarness
before(async () => {
  h = await startGovernanceHarness()
})
after(() => h.close())
afterEach(async () => {
  for (const { what, name } of (await h.request('GET', '/v1/freezes')).body.freezes) {
    const path = name === undefined ? what : `${what}/${name}`
    await h.request('DELETE', `/v1/freezes/${path}?reason=over`)
  }
})

const freeze = (body: object, token = OPS) => h.request('POST', '/v1/freezes', { token, body })
const thaw = (path: string, token = OPS) => h.request('DELETE', `/v1/freezes/${path}`, { token })
let ids = 0
const slow = () => ({ request_id: `slow-${++ids}`, tool: { name: 'wait' }, input: { ms: 60_000 } })
const transfer = (token = AGENT) => h.call('transfer', { to: 'a', amount: 5 }, { token })

describe('POST /v1/freezes', () => {
  it('S44: a frozen tool is not sent to, the caller is told why, and thawing ends it', async () => {
    const frozen = await freeze({ what: 'tool', name: 'transfer', reason: 'wrong amounts' })
    assert.equal(frozen.status, 201, frozen.text)
    const { what, name, namespace, reason, by, in_flight } = frozen.body
    assert.deepEqual(
      [what, name, namespace, reason, by, in_flight],
      ['tool', 'transfer', 'default', 'wrong amounts', 'ops', 'finish'],
    )
    const refused = await transfer()
    assert.equal(refused.status, 403)
    assert.equal(refused.body.error.details.failure, 'frozen')
    assert.match(refused.body.error.message, /wrong amounts/)
    assert.equal((await h.call('look', {}, { token: AGENT })).status, 200, 'other tools go on')
    assert.equal((await h.request('GET', '/v1/freezes', { token: OPS })).body.freezes.length, 1)
    assert.equal((await thaw('tool/transfer')).status, 422, 'a reason is needed')
    assert.equal((await thaw('tool/transfer?reason=fixed')).status, 200)
    assert.equal((await thaw('tool/transfer?reason=fixed')).status, 404)
    assert.equal((await transfer()).status, 200)
    assert.deepEqual(h.transferred, [5])
  })

  it('S44: a frozen caller changes nothing else, either', async () => {
    assert.equal((await freeze({ what: 'caller', name: 'ops', reason: 'stolen token' }, TOKEN)).status, 201)
    const manifest = { apiVersion: 'writ.dev/v1', kind: 'AgentRole', metadata: { name: 'r' }, spec: {} }
    const applied = await h.request('POST', '/v1/apply', { token: OPS, body: manifest })
    assert.deepEqual([applied.status, applied.body.error.details.failure], [403, 'frozen'], applied.text)
    assert.match(applied.body.error.message, /stolen token/)
  })

  it('S44: callers and namespaces, reads as well; another namespace goes on', async () => {
    await freeze({ what: 'caller', name: 'agent-1', reason: 'loops' })
    assert.equal((await h.call('look', {}, { token: AGENT })).status, 403)
    assert.equal((await h.call('look', {}, { token: ANNA })).status, 200)
    await freeze({ what: 'namespace', reason: 'incident' })
    assert.equal((await h.call('look', {}, { token: ANNA })).status, 403)
    const other = await h.request('GET', '/v1/freezes', { token: ELSEWHERE })
    assert.deepEqual(other.body.freezes, [])
  })

  it('S44: in_flight end ends what is under way, finish lets it be', async () => {
    const start = () => h.request('POST', '/v1/calls', { body: slow(), headers: { prefer: 'respond-async' } })
    const stays = (await start()).body.id
    const ends = async (id: string) => (await h.request('GET', `/v1/calls/${id}?wait=20`)).body.state
    await freeze({ what: 'tool', name: 'wait', reason: 'x' })
    assert.equal((await h.request('GET', `/v1/calls/${stays}`)).body.state, 'running')
    await freeze({ what: 'tool', name: 'wait', reason: 'x', in_flight: 'end' })
    assert.equal(await ends(stays), 'canceled')
  })

  it('everything is for the admin alone', async () => {
    const refused = await freeze({ what: 'all', reason: 'stop' })
    assert.equal(refused.status, 403)
    const frozen = await freeze({ what: 'all', reason: 'stop' }, TOKEN)
    assert.equal(frozen.status, 201, frozen.text)
    assert.equal(frozen.body.namespace, '*')
    assert.equal((await transfer()).status, 403)
    assert.equal((await thaw('all?reason=on', TOKEN)).status, 200)
  })

  it('refuses what cannot be frozen, and who may not', async () => {
    for (const body of [
      { what: 'tool', reason: 'x' },
      { what: 'namespace', name: 'other', reason: 'x' },
      { what: 'tool', name: 'transfer' },
      { what: 'tool', name: 'transfer', reason: ' ' },
      { what: 'planet', name: 'mars', reason: 'x' },
      { what: 'tool', name: 'No Name', reason: 'x' },
      { what: 'tool', name: 'transfer', reason: 'x', in_flight: 'kill' },
      { what: 'tool', name: 'transfer', reason: 'x', until: 'noon' },
    ]) {
      assert.equal((await freeze(body)).status, 422, JSON.stringify(body))
    }
    assert.equal((await freeze({ what: 'tool', name: 'transfer', reason: 'x' }, ANNA)).status, 403)
    assert.equal((await h.request('GET', '/v1/freezes', { token: AGENT })).status, 403)
    for (const path of ['tool', 'planet/mars', 'namespace/x', 'token/abc'])
      assert.equal((await thaw(`${path}?reason=x`)).status, 404, path)
    assert.equal((await transfer()).status, 200)
  })
})
