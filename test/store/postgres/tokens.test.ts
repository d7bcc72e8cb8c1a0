// Tokens over replicas as real processes: one file of keys, one PostgreSQL.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runWrit, startUp, type UpServer } from '../../cli/writ-process.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'

const root = mkdtempSync(join(tmpdir(), 'writ-tokens-postgres-'))
const TOKEN = 'a'.repeat(40)
let postgres: PostgresServer
let replicas: readonly UpServer[] = []

before(async () => {
  postgres = await startPostgres()
  const made = await runWrit(['token', 'rotate', '--file', 'keys.json'], { cwd: root })
  assert.equal(made.code, 0, made.err)
  const env = {
    WRIT_STORE: await postgres.createDatabase(),
    WRIT_ADMIN_TOKEN: TOKEN,
    WRIT_TOKEN_KEYS: join(root, 'keys.json'),
  }
  const start = () => startUp({ cwd: mkdtempSync(join(root, 'replica-')), env })
  replicas = [await start(), await start()]
})
after(async () => {
  for (const replica of replicas) {
    replica.child.kill('SIGKILL')
    await replica.ended
  }
  await postgres.stop()
  rmSync(root, { recursive: true })
})

async function ask(
  replica: UpServer | undefined,
  method: string,
  path: string,
  token: string,
  body?: object,
) {
  const response = await fetch(`${replica?.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: what a body holds is the question of each test
  return { status: response.status, body: (await response.json()) as any }
}

const whoami = (replica: UpServer | undefined, token: string) => ask(replica, 'GET', '/v1/whoami', token)

describe('replicas', () => {
  it('take each other’s tokens, and what is revoked on one is refused on the other within a second', async () => {
    const [a, b] = replicas
    const times: number[] = []
    for (const how of ['id', 'actor'] as const) {
      const { body } = await ask(a, 'POST', '/v1/tokens', TOKEN, { actor: `agent-${how}` })
      assert.equal((await whoami(b, body.token)).status, 200)
      const began = performance.now()
      const revoked =
        how === 'id'
          ? await ask(a, 'DELETE', `/v1/tokens/${body.id}?reason=test`, TOKEN)
          : await ask(a, 'POST', '/v1/tokens/revoke', TOKEN, { actor: 'agent-actor', reason: 'test' })
      assert.equal(revoked.status, 200)
      const acknowledged = performance.now()
      assert.equal(
        (await whoami(a, body.token)).body.error.details.reason,
        'revoked',
        'at once where it was asked',
      )
      let found = await whoami(b, body.token)
      while (found.status === 200 && performance.now() - began < 10_000) found = await whoami(b, body.token)
      assert.equal(found.body.error.details.reason, 'revoked')
      times.push(performance.now() - acknowledged)
    }
    // A machine that stands still for a moment is no fault of ours; one that does so every time is.
    assert.ok(Math.min(...times) < 1000, `it took ${times.join(' and ')} ms`)
  })

  it('notice a new key of another at its first token', async () => {
    const [a, b] = replicas
    const before = (await ask(b, 'POST', '/v1/tokens', TOKEN, { actor: 'old' })).body.token
    for (let i = 0; i < 3; i++) {
      assert.equal((await ask(i % 2 === 0 ? a : b, 'POST', '/v1/tokens/rotate', TOKEN)).status, 200)
      for (const issuer of [a, b]) {
        const { body } = await ask(issuer, 'POST', '/v1/tokens', TOKEN, { actor: 'new' })
        for (const replica of [a, b]) assert.equal((await whoami(replica, body.token)).status, 200)
      }
    }
    for (const replica of [a, b]) assert.equal((await whoami(replica, before)).status, 200)
  })
})
