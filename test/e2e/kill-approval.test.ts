// kill -9 between what people decide and what follows from it: every call goes on after the restart, and ends once (S45).
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Client, createClient } from '../../src/client/client.ts'

const bin = new URL('../../bin/writ', import.meta.url).pathname
/** For as long as the test may take. */
const WAIT_MS = 60_000

interface CountingTool {
  readonly url: string
  /** What really happened, by the key it was given. */
  readonly effects: Map<string, number>
  /** Resolves when the next request has had its effect; it is not answered before `release`. */
  held(): Promise<void>
  release(): void
}

/** A tool that holds its answers back while it is told to. */
async function startTool(t: TestContext): Promise<CountingTool> {
  const effects = new Map<string, number>()
  const waiting: ServerResponse[] = []
  let holds = false
  let tell = () => {}
  const answer = (response: ServerResponse) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"done":true}')
  const server = createServer((request, response) => {
    const key = String(request.headers['idempotency-key'])
    request.resume().on('end', () => {
      effects.set(key, (effects.get(key) ?? 0) + 1)
      if (holds) waiting.push(response)
      else answer(response)
      tell()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    effects,
    held() {
      holds = true
      return new Promise((resolve) => {
        tell = resolve
      })
    },
    release() {
      holds = false
      for (const response of waiting.splice(0)) answer(response)
    },
  }
}

interface Running {
  readonly child: ChildProcess
  readonly admin: Client
  as(token: string): Client
}

async function up(t: TestContext, data: string): Promise<Running> {
  const child = spawn(bin, ['up', '--port', '0', '--data', data, '--log-level', 'error'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  let text = ''
  for await (const chunk of child.stdout ?? []) {
    text += chunk
    const url = /Address:\s+(\S+)/.exec(text)?.[1]
    if (url === undefined) continue
    const as = (token: string) => {
      const client = createClient({ url, token })
      t.after(() => client.close())
      return client
    }
    return { child, admin: as(readFileSync(join(data, 'admin-token'), 'utf8').trim()), as }
  }
  throw new Error(`writ did not come up: ${text}`)
}

async function kill({ child }: Running): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

/** A server with one tool that asks people about everything, and somebody who may call it and not decide. */
async function setUp(t: TestContext, effect: string) {
  const folder = mkdtempSync(join(tmpdir(), 'writ-kill-approval-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const data = join(folder, 'data')
  const tool = await startTool(t)
  const server = await up(t, data)
  await server.admin.apply(
    `apiVersion: writ.dev/v1
kind: Tool
metadata: {name: pay}
spec:
  type: http
  endpoint: "${tool.url}"
  effect: ${effect}
  limits: {concurrency: 1}
  approval_triggers: [{field: /index, op: exists}]
---
apiVersion: writ.dev/v1
kind: AgentRole
metadata: {name: payer}
spec: {permissions: ["tool:pay:invoke"]}
`,
  )
  const { token } = await server.admin.issueToken({ actor: 'agent-1', roles: ['payer'] })
  return { data, tool, server, token }
}

interface Asked {
  readonly call: string
  readonly approval: string
}

async function ask(client: Client, index: number): Promise<Asked> {
  const request = { request_id: `r-${index}`, tool: { name: 'pay' }, input: { index } }
  const { state, callId, failure, body } = await client.call(request)
  assert.equal(state, 'awaiting-approval', JSON.stringify(body))
  return { call: String(callId), approval: String(failure?.details?.approval_id) }
}

test('S45: kill -9 after people agreed and before the calls went on: each goes on after the restart, once', async (t) => {
  const { data, tool, server, token } = await setUp(t, '{class: external-communication}')
  const agent = server.as(token)
  const [first, ...others] = await Promise.all([0, 1, 2, 3].map((index) => ask(agent, index)))
  assert.ok(first !== undefined)
  // The first one keeps the only place there is: what is agreed to after it cannot go on.
  const busy = tool.held()
  await server.admin.approve(first.approval)
  await busy
  for (const { approval } of others) {
    assert.equal((await server.admin.approve(approval)).state, 'approved', 'decided, and on disk')
  }
  assert.equal(tool.effects.size, 1, 'and not sent yet')
  await kill(server)
  tool.release()

  const next = await up(t, data)
  const caller = next.as(token)
  for (const { call, approval } of others) {
    const { state, effect } = await caller.getCall(call, { waitMs: WAIT_MS })
    assert.deepEqual([state, effect], ['succeeded', 'done'], call)
    assert.equal((await next.admin.getApproval(approval)).state, 'used')
  }
  const { state, effect } = await caller.getCall(first.call)
  assert.deepEqual(
    [state, effect],
    ['unknown', 'unknown'],
    'nobody knows what became of it, and it is not repeated',
  )
  assert.equal((await next.admin.getApproval(first.approval)).state, 'used')
  assert.deepEqual([...tool.effects.values()], [1, 1, 1, 1])
  await assert.rejects(next.admin.approve(first.approval), /is used/)
})

test('S45: kill -9 while an approved call is at its tool: it ends after the restart, with one approval', async (t) => {
  const keyed =
    '{class: external-communication, determinism: idempotent, idempotency: {keyed: {header: Idempotency-Key, retention: 24h}}}'
  const { data, tool, server, token } = await setUp(t, keyed)
  const { call, approval } = await ask(server.as(token), 7)
  const busy = tool.held()
  await server.admin.approve(approval)
  await busy
  await kill(server)
  tool.release()

  const next = await up(t, data)
  const caller = next.as(token)
  const { state, effect } = await caller.getCall(call, { waitMs: WAIT_MS })
  assert.deepEqual([state, effect], ['succeeded', 'done'])
  assert.deepEqual([...tool.effects.values()], [2], 'asked for twice, under one key: one effect')
  assert.equal((await next.admin.getApproval(approval)).state, 'used', 'what people gave covers the repeat')
  const again = await caller.call({ request_id: 'r-7', tool: { name: 'pay' }, input: { index: 7 } })
  assert.deepEqual([again.state, again.replayed], ['succeeded', true])
  assert.deepEqual([...tool.effects.values()], [2])
})

test('S45: kill -9 while people wait to be asked: the question is there after the restart, and is answered', async (t) => {
  const { data, tool, server, token } = await setUp(t, '{class: external-communication}')
  const agreed = await ask(server.as(token), 1)
  const refused = await ask(server.as(token), 2)
  await kill(server)
  const next = await up(t, data)
  const caller = next.as(token)
  await next.admin.approve(agreed.approval)
  await next.admin.deny(refused.approval, { reason: 'too much' })
  assert.equal((await caller.getCall(agreed.call, { waitMs: WAIT_MS })).state, 'succeeded')
  assert.equal((await caller.getCall(refused.call, { waitMs: WAIT_MS })).state, 'denied')
  assert.deepEqual([...tool.effects.values()], [1])
})
