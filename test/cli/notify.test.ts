// writ up with a file of targets: a call that waits is told of, decided by the link in the message, and goes on.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { startReceiver } from '../notify/fixture.ts'
import { until } from '../pipeline/until.ts'
import { runWrit, startToolPeer, startUp } from './writ-process.ts'

const SECRET = 'geheim-geheim-geheim-geheim'

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'writ-notify-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}

const tool = (endpoint: string) => `apiVersion: writ.dev/v1
kind: Tool
metadata: { name: pay }
spec:
  type: http
  version: 1.0.0
  endpoint: ${endpoint}
  effect: { class: external-communication }
  approval_triggers: [{ field: /amount, op: gt, value: 100 }]
---
apiVersion: writ.dev/v1
kind: AgentRole
metadata: { name: treasurer }
spec: { permissions: ['approval:decide'] }
`

describe('writ up --notify', () => {
  it('S45: a call is approved by the link in the news of it, once, and its outcome is kept', async (t) => {
    const cwd = folder(t)
    const peer = await startToolPeer()
    t.after(() => peer.close())
    const { received, url } = await startReceiver(t, () => ({ status: 200 }))
    const publicUrl = `http://127.0.0.1:${await freePort()}`
    writeFileSync(
      join(cwd, 'notify.yaml'),
      `- name: ops\n  type: webhook\n  url_env: HOOK_URL\n  secret_env: HOOK_SECRET\n  approvers: [{actor: alice, roles: [treasurer]}]\n`,
    )
    writeFileSync(join(cwd, 'tool.yaml'), tool(peer.url))
    const env = { HOOK_URL: url, HOOK_SECRET: SECRET }
    const args = ['--notify', 'notify.yaml', '--public-url', publicUrl]
    const server = await startUp({ cwd, env, args })
    t.after(() => server.stop('SIGKILL'))
    const applied = await runWrit(['apply', '-f', 'tool.yaml'], { cwd })
    assert.equal(applied.code, 0, applied.err)
    const call = await runWrit(['call', 'pay', '--set', 'amount=500', '--key', 'k-1', '-o', 'json'], { cwd })
    assert.equal(call.code, 5, call.err)
    const news = JSON.parse((await until(() => received[0])).body)
    assert.equal(news.type, 'approval.requested')
    assert.deepEqual(news.approval.input, { amount: 500 })
    // The address that people reach it by leads to the server, as through a proxy.
    const path = String(news.links[0].url).slice(publicUrl.length)
    const page = await fetch(server.url + path)
    assert.equal(page.status, 200)
    assert.match(await page.text(), /You decide as <strong>alice/)
    const form = { method: 'POST', body: new URLSearchParams({ decision: 'approve', comment: 'fine' }) }
    const decided = await fetch(server.url + path, form)
    assert.equal(decided.status, 200, await decided.text())
    await until(() => peer.seen.length === 1)
    assert.equal((await fetch(server.url + path, form)).status, 410, 'it decides once')
    const types = await until(() => {
      const all = received.map(({ body }) => JSON.parse(body))
      return all.some(({ type }) => type === 'approval.used') && all.map(({ type }) => type)
    })
    assert.deepEqual(types, ['approval.requested', 'approval.approved', 'approval.used'])
    assert.equal(JSON.parse(received[1]?.body ?? '').approval.decisions[0].decided_by, 'alice')
    assert.equal(statSync(join(cwd, '.writ/link-key')).mode & 0o777, 0o600)
    const { out, err } = await server.stop()
    const key = readFileSync(join(cwd, '.writ/link-key'), 'utf8').trim()
    for (const secret of [SECRET, key, 'in-the-address', path])
      assert.equal(`${out}${err}`.includes(secret), false)
  })

  it('does not start with a mistake in the file, and names each with its line', async (t) => {
    const cwd = folder(t)
    writeFileSync(join(cwd, 'notify.yaml'), `- {name: a, type: slak}\n- {name: b, typ: slack}\n`)
    const up = (...args: string[]) => runWrit(['up', '--port', '0', ...args], { cwd })
    const wrong = await up('--notify', 'notify.yaml')
    assert.equal(wrong.code, 1)
    assert.match(wrong.err, /notify\.yaml:1:\d+: error: \[0\]\.type: .*did you mean "slack"/)
    assert.match(wrong.err, /notify\.yaml:2:\d+: error: \[1\]\.typ: .*did you mean 'type'/)
    const missing = await up('--notify', 'none.yaml')
    assert.equal(missing.code, 1)
    assert.match(missing.err, /none\.yaml cannot be read/)
    const address = await up('--public-url', 'writ.example.com')
    assert.equal(address.code, 2)
  })

  it('does not start with a key of links that others can read, or that is not there', async (t) => {
    const cwd = folder(t)
    writeFileSync(join(cwd, 'notify.yaml'), `- {name: a, type: slack, url: 'https://x.example'}\n`)
    writeFileSync(join(cwd, 'key'), 'a'.repeat(64), { mode: 0o644 })
    const up = (key: string) =>
      runWrit(
        [
          'up',
          '--port',
          '0',
          '--notify',
          'notify.yaml',
          '--public-url',
          'https://w.example',
          '--link-key',
          key,
        ],
        { cwd },
      )
    const open = await up('key')
    assert.deepEqual([open.code, /chmod 600/.test(open.err)], [1, true])
    const missing = await up('none')
    assert.deepEqual([missing.code, /openssl rand/.test(missing.err)], [1, true])
  })
})
