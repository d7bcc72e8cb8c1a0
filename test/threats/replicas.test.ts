// Two replicas as real processes over one PostgreSQL: a freeze that races with writes, a database that is killed, a policy that is damaged.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runWrit, startToolPeer, startUp, type ToolPeer, type UpServer } from '../cli/writ-process.ts'
import { until } from '../pipeline/until.ts'
import { type PostgresServer, startPostgres } from '../postgres/server.ts'
import { manifest } from './two-houses.ts'

const root = mkdtempSync(join(tmpdir(), 'writ-threats-'))
const ADMIN = 'a'.repeat(40)
const running: UpServer[] = []
let postgres: PostgresServer
let peer: ToolPeer
let database = ''
let env: Record<string, string> = {}
let a: UpServer
let b: UpServer

async function up(): Promise<UpServer> {
  const server = await startUp({ cwd: mkdtempSync(join(root, 'replica-')), env })
  running.push(server)
  return server
}

before(async () => {
  postgres = await startPostgres()
  peer = await startToolPeer()
  const made = await runWrit(['token', 'rotate', '--file', 'keys.json'], { cwd: root })
  assert.equal(made.code, 0, made.err)
  const url = await postgres.createDatabase()
  database = new URL(url).pathname.slice(1)
  env = { WRIT_STORE: url, WRIT_ADMIN_TOKEN: ADMIN, WRIT_TOKEN_KEYS: join(root, 'keys.json') }
  a = await up()
  b = await up()
  const set = [
    manifest('Tool', 'write', `{endpoint: '${peer.url}/', effect: {class: external-communication}}`),
    manifest('Tool', 'read', `{endpoint: '${peer.url}/', effect: {class: read-only, determinism: pure}}`),
    manifest('AgentRole', 'caller', "{permissions: ['tool:write:invoke', 'tool:read:invoke']}"),
  ].join('---\n')
  assert.equal((await ask(a, 'POST', '/v1/apply', { yaml: set })).status, 200)
  await until(async () => (await call(b, 'read', 'warm', await token())).status === 200)
})
after(async () => {
  for (const server of running) {
    server.child.kill('SIGKILL')
    await server.ended
  }
  await peer.close()
  await postgres.stop()
  rmSync(root, { recursive: true })
})

interface Asked {
  readonly body?: object
  readonly yaml?: string
  readonly token?: string
}

async function ask(server: UpServer, method: string, path: string, asked: Asked = {}) {
  const { body, yaml, token: bearer = ADMIN } = asked
  const response = await fetch(server.url + path, {
    method,
    headers: {
      authorization: `Bearer ${bearer}`,
      'content-type': yaml === undefined ? 'application/json' : 'application/yaml',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(yaml === undefined ? {} : { body: yaml }),
  })
  const text = await response.text()
  // biome-ignore lint/suspicious/noExplicitAny: what a body holds is the question of each test
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as any }
}

async function token(): Promise<string> {
  return (await ask(a, 'POST', '/v1/tokens', { body: { actor: 'agent-1', roles: ['caller'] } })).body.token
}

let calls = 0
function call(server: UpServer, tool: string, text: string, bearer: string) {
  const body = { request_id: `threat-${++calls}`, tool: { name: tool }, input: { text } }
  return ask(server, 'POST', '/v1/calls', { body, token: bearer })
}

const failureOf = (reply: { body: { error?: { details: { failure: string } } } }) =>
  reply.body.error?.details.failure
const wasSent = (text: string) => peer.seen.some((body) => body.includes(`"${text}"`))

describe('a freeze on one replica', () => {
  it('S44: no write that is asked for after its answer is sent by the other one, however many are under way', async () => {
    const bearer = await token()
    let frozen = false
    let over = false
    const late: string[] = []
    const early: string[] = []
    const worker = async (id: number): Promise<void> => {
      for (let i = 0; !over; i++) {
        const text = `storm-${id}-${i}`
        const after = frozen
        const reply = await call(b, 'write', text, bearer)
        if (after) {
          late.push(text)
          assert.equal(failureOf(reply), 'frozen', JSON.stringify(reply.body))
        } else if (reply.status === 200) early.push(text)
      }
    }
    const workers = Array.from({ length: 8 }, (_, id) => worker(id))
    const storm = Promise.all(workers)
    await until(() => early.length > 50)
    const body = { what: 'tool', name: 'write', reason: 'wrong amounts' }
    const reply = await ask(a, 'POST', '/v1/freezes', { body })
    frozen = true
    assert.equal(reply.status, 201)
    await Promise.race([until(() => late.length > 200), storm])
    over = true
    await storm
    assert.ok(late.length > 200)
    assert.deepEqual(late.filter(wasSent), [])
    assert.equal((await ask(a, 'DELETE', '/v1/freezes/tool/write?reason=over')).status, 200)
    await until(async () => (await call(b, 'write', 'thawed', bearer)).status === 200)
  })

  it('S44: reads on the other one are refused within a second', async () => {
    const bearer = await token()
    const times: number[] = []
    for (let round = 0; round < 2; round++) {
      const body = { what: 'tool', name: 'read', reason: 'leaks' }
      assert.equal((await ask(a, 'POST', '/v1/freezes', { body })).status, 201)
      const began = performance.now()
      await until(async () => failureOf(await call(b, 'read', `look-${round}`, bearer)) === 'frozen')
      times.push(performance.now() - began)
      assert.equal((await ask(a, 'DELETE', '/v1/freezes/tool/read?reason=over')).status, 200)
      await until(async () => (await call(b, 'read', `again-${round}`, bearer)).status === 200)
    }
    // A machine that stands still for a moment is no fault of ours; one that does so every time is.
    assert.ok(Math.min(...times) < 1000, `it took ${times.join(' and ')} ms`)
  })
})

describe('a policy that is applied on one replica', () => {
  it('S42: calls on the other one are denied within a second, and allowed again when it is deleted', async () => {
    const bearer = await token()
    const times: number[] = []
    for (let round = 0; round < 2; round++) {
      assert.equal((await call(b, 'read', `allowed-${round}`, bearer)).status, 200)
      const yaml = manifest('AgentPolicy', 'closed', '{apply_mode: global, blocked_tools: [read]}')
      assert.equal((await ask(a, 'POST', '/v1/apply', { yaml })).status, 200)
      const began = performance.now()
      await until(async () => (await call(b, 'read', `closed-${round}`, bearer)).status === 403)
      times.push(performance.now() - began)
      assert.equal((await ask(a, 'DELETE', '/v1/agent-policies/closed')).status, 204)
      await until(async () => (await call(b, 'read', `open-${round}`, bearer)).status === 200)
    }
    assert.ok(Math.min(...times) < 1000, `it took ${times.join(' and ')} ms`)
  })
})

describe('a policy store that fails', () => {
  it('S42: PostgreSQL killed under a running replica: an error to retry, no denial, and nothing is sent', async () => {
    const bearer = await token()
    await postgres.kill()
    try {
      for (let i = 0; i < 20; i++) {
        const reply = await call(b, i % 2 === 0 ? 'write' : 'read', `away-${i}`, bearer)
        assert.equal(reply.status, 503, JSON.stringify(reply.body))
        const { status, error, effect } = reply.body
        assert.deepEqual([status, error.retryable, effect], ['error', true, 'none'])
        assert.equal(wasSent(`away-${i}`), false)
      }
    } finally {
      await postgres.start()
    }
    for (const server of [a, b])
      await until(
        async () => (await call(server, 'write', `back ${server.url}`, bearer)).status === 200,
        30_000,
      )
  })

  for (const [what, damaged] of [
    ['that no longer is a policy', '{"kind":"AgentPolicy","spec":{"rules":"gone"}}'],
    ['that is no JSON', '{"kind":'],
  ] as const) {
    it(`S42: a policy row ${what}: calls fail as policy-unavailable, on replicas that run and that start`, async () => {
      const yaml = manifest('AgentPolicy', 'guard', '{apply_mode: global, blocked_tools: [nothing]}')
      assert.equal((await ask(a, 'POST', '/v1/apply', { yaml })).status, 200)
      const bearer = await token()
      await until(async () => (await call(b, 'read', `whole ${what}`, bearer)).status === 200, 30_000)
      // In one write, as every change of a resource is: a replica that looked in between would not look again.
      const damage = `with next as (update writ.resource_counter set last = last + 1 returning last)
        update writ.resource set body = $1, resource_version = (select last from next)
        where kind = 'AgentPolicy' and name = 'guard'`
      await postgres.query(damage, [damaged], database)
      await until(async () => failureOf(await call(b, 'read', what, bearer)) === 'policy-unavailable', 30_000)
      const c = await up()
      for (const server of [b, c]) {
        const text = `damaged ${what} ${server.url}`
        const reply = await call(server, 'write', text, bearer)
        assert.equal(failureOf(reply), 'policy-unavailable', JSON.stringify(reply.body))
        assert.deepEqual([reply.body.status, reply.body.error.retryable], ['error', true])
        assert.equal(wasSent(text), false)
      }
      await c.stop('SIGKILL')
      assert.equal((await ask(a, 'DELETE', '/v1/agent-policies/guard')).status, 204)
      await until(async () => (await call(b, 'write', `mended ${what}`, bearer)).status === 200, 30_000)
    })
  }
})
