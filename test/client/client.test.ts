// The client against a real server over a real runtime.
import assert from 'node:assert/strict'
import { createServer, type Server as NetServer } from 'node:http'
import { type AddressInfo, createServer as createSocketServer } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { Agent } from 'undici'
import { type Client, ClientError, type ClientOptions, createClient } from '../../src/client/index.ts'
import { type Harness, startHarness, TOKEN } from '../server/harness.ts'

let harness: Harness
let client: Client
const clients: Client[] = []
let ids = 0

function connect(options: Partial<ClientOptions> = {}): Client {
  const made = createClient({ url: harness.url, token: TOKEN, ...options })
  clients.push(made)
  return made
}

const v1 = (tool: string, input: object, more: object = {}) => ({
  tool_contract_version: 'v1',
  request_id: `client-${++ids}`,
  tool: { name: tool },
  input: input as never,
  ...more,
})
const legacy = (tool: string, input: object) => ({
  request_id: `client-${++ids}`,
  tool,
  action: 'invoke',
  parameters: input as never,
})
const fourOutcome = (tool: string, input: object) => ({
  call_id: `00000000-0000-4000-8000-${String(++ids).padStart(12, '0')}`,
  tool_id: tool,
  tool_version: '*',
  fn: 'invoke',
  input: input as never,
  context: {
    actor_id: 'test',
    trace_id: '00000000-0000-4000-8000-000000000000',
    timezone: 'UTC',
    env: 'dev',
  },
  constraints: {
    timeout_ms: 5000,
    deadline_unix_ms: Date.now() + 60_000,
    idempotency_key: `a-key-of-16-or-more-${ids}`,
  },
})

before(async () => {
  harness = await startHarness()
  client = connect()
})
after(async () => {
  await Promise.all(clients.map((one) => one.close()))
  await harness.close()
})

async function failure(work: Promise<unknown>): Promise<ClientError> {
  const error = await work.then(
    () => assert.fail('it worked'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof ClientError, String(error))
  return error
}

describe('call', () => {
  for (const [dialect, request] of Object.entries({ v1, legacy, 'four-outcome': fourOutcome })) {
    it(`reads an answer in ${dialect}`, async () => {
      const reply = await client.call(request('echo', { a: 1 }))
      assert.equal(reply.state, 'succeeded')
      assert.equal(reply.final, true)
      assert.equal(reply.effect, 'none')
      assert.deepEqual(reply.output, { said: { a: 1 } })
      assert.equal(reply.attempt, 1)
      assert.equal(reply.status, 200)
      assert.match(reply.callId ?? '', /^[0-9a-f-]{36}$/)
    })

    it(`reads a refusal in ${dialect}, with every violation and how to mend it`, async () => {
      const reply = await client.call(request('post', { wrong: 1 }))
      assert.equal(reply.state, 'invalid')
      assert.equal(reply.failure?.id, 'input-invalid')
      assert.deepEqual(reply.failure?.violations.map(({ path }) => path).sort(), ['', '/wrong'])
      assert.notEqual(reply.failure?.fix, '')
      assert.equal(reply.failure?.retryable, false)
      assert.equal('output' in reply, false)
    })

    it(`reads a failure that may be tried again in ${dialect}`, async () => {
      const before = await client.call(v1('busy', {}))
      assert.ok(before.state === 'succeeded' || before.failure?.id === 'rate-limited')
      const reply = await client.call(request('busy', {}))
      assert.equal(reply.failure?.id, 'rate-limited')
      assert.equal(reply.failure?.retryable, true)
      assert.equal(reply.effect, 'none')
    })

    it(`reads that a call in ${dialect} waits for approval`, async () => {
      const reply = await client.call(request('pay', { amount: 5000 }))
      assert.equal(reply.state, 'awaiting-approval')
      assert.equal(reply.final, false)
      assert.equal(reply.effect, 'pending')
      assert.equal(reply.status, 202)
    })
  }

  it('replays the outcome of an effect that was sent, and says so', async () => {
    const request = v1('post', { text: 'once' })
    const [first, second] = [await client.call(request), await client.call(request)]
    assert.equal(first.effect, 'done')
    assert.equal(first.replayed, false)
    assert.equal(second.replayed, true)
    assert.deepEqual(second.output, first.output)
    assert.equal(harness.effects.done.filter((text) => text === 'once').length, 1)
  })

  it('S17: reads a dry run, which has no id to be found by', async () => {
    const allowed = await client.call({ ...v1('post', { text: 'dry' }), dry_run: true })
    assert.equal(allowed.state, 'succeeded')
    assert.equal('callId' in allowed, false)
    const refused = await client.call({ ...v1('post', { wrong: 1 }), dry_run: true })
    assert.equal(refused.failure?.id, 'input-invalid')
    const stranger = createClient({ url: harness.url, token: 'wrong-token' })
    const denied = await failure(stranger.call({ ...v1('post', { text: 'dry' }), dry_run: true }))
    await stranger.close()
    assert.deepEqual([denied.kind, denied.status], ['refused', 401])
  })

  it('keeps the details of a refusal, also under another hint', async () => {
    const refused = await failure(client.getTool('echo', { version: '9.9.9' }))
    assert.deepEqual(refused.details.versions, ['1.0.0'])
    const hinted = refused.withFix('look again')
    assert.deepEqual([hinted.fix, hinted.details, hinted.status], ['look again', refused.details, 404])
  })

  it('sends the idempotency key as a header', async () => {
    const options = { idempotencyKey: 'one-key' }
    await client.call(v1('post', { text: 'keyed' }), options)
    const again = await client.call(v1('post', { text: 'keyed' }), options)
    assert.equal(again.replayed, true)
  })

  it('shows the Call resource of a call it did not wait for', async () => {
    const accepted = await client.call(v1('wait', { ms: 1500 }), { async: true })
    assert.equal(accepted.status, 202)
    assert.equal(accepted.state, 'running')
    assert.equal(accepted.final, false)
    const waited = await client.call(v1('wait', { ms: 1400 }), { waitMs: 1 })
    assert.equal(waited.state, 'running')
    const found = await client.getCall(accepted.callId ?? '')
    assert.equal(found.id, accepted.callId)
    assert.equal(found.tool.name, 'wait')
  })

  it('answers a call with a bad token with a refusal, not with a reply', async () => {
    const error = await failure(connect({ token: 'wrong' }).call(v1('echo', {})))
    assert.equal(error.kind, 'refused')
    assert.equal(error.status, 401)
    assert.equal(error.failure, 'unauthenticated')
    assert.ok(error.fix)
  })
})

describe('calls', () => {
  it('are listed page by page, filtered, and found by the id of their caller', async () => {
    // Effects, because their calls are on record when they are answered; reads follow within 50 ms (S34).
    const requests = ['a', 'b', 'c'].map((text) => v1('post', { text }))
    for (const request of requests) await client.call(request)
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const page: Awaited<ReturnType<Client['listCalls']>> = await client.listCalls({
        tool: 'post',
        state: 'succeeded',
        limit: 2,
        ...(cursor === null ? {} : { cursor }),
      })
      assert.ok(page.calls.length <= 2)
      seen.push(...page.calls.map((call) => call.request_id))
      cursor = page.next_cursor
    } while (cursor !== null)
    for (const { request_id } of requests) assert.ok(seen.includes(request_id))
    const { calls } = await client.listCalls({ requestId: requests[0]?.request_id ?? '' })
    assert.equal(calls.length, 1)
  })

  it('can be canceled while they run, and not after', async () => {
    const { callId = '' } = await client.call(v1('wait', { ms: 20_000 }), { async: true })
    const { canceling } = await client.cancelCall(callId)
    assert.equal(canceling, true)
    let call = await client.getCall(callId)
    for (let turn = 0; turn < 100 && !call.final; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      call = await client.getCall(callId)
    }
    assert.equal(call.state, 'canceled')
    assert.equal((await client.cancelCall(callId)).canceling, false)
  })

  it('that are not there are refused, whatever the id', async () => {
    for (const id of ['00000000-0000-7000-8000-000000000000', '..', '../tools', 'a/b', '%2e%2e', '?x=1']) {
      const error = await failure(client.getCall(id))
      assert.equal(error.kind, 'refused')
      assert.equal(error.status, 404, id)
    }
  })
})

describe('tools', () => {
  const manifest = (version: string) => `
apiVersion: writ.dev/v1
kind: Tool
metadata: {name: remote}
spec: {type: http, endpoint: "http://127.0.0.1:9/x", version: ${version}, operation_classes: [read]}
`

  it('are applied, listed, read and deleted', async () => {
    const planned = await client.apply(manifest('1.0.0'), { dryRun: true })
    assert.equal(planned.ok, true)
    assert.equal(planned.dry_run, true)
    assert.equal(planned.diff[0]?.action, 'create')
    await failure(client.getTool('remote'))

    const applied = await client.apply(`${manifest('1.0.0')}---${manifest('1.1.0')}`)
    assert.deepEqual(
      applied.diff.map(({ name, version, action }) => [name, version, action]),
      [
        ['remote', '1.0.0', 'create'],
        ['remote', '1.1.0', 'create'],
      ],
    )
    assert.equal((await client.apply(manifest('1.0.0'))).diff[0]?.action, 'unchanged')
    const names = (await client.listTools()).map(({ metadata }) => metadata.name)
    assert.equal(names.filter((name) => name === 'remote').length, 2)
    const highest = await client.getTool('remote')
    assert.equal(highest.spec.version, '1.1.0')
    assert.match(highest.status.digest, /^sha256:/)
    assert.equal((await client.getTool('remote', { version: '1.0.0' })).spec.version, '1.0.0')

    const expect = highest.metadata.resourceVersion ?? 0
    const stale = await failure(client.deleteTool('remote', { version: '1.1.0', expect: expect + 1 }))
    assert.equal(stale.status, 409)
    await client.deleteTool('remote', { version: '1.1.0', expect })
    assert.equal((await client.getTool('remote')).spec.version, '1.0.0')
    await client.deleteTool('remote')
    assert.equal((await failure(client.getTool('remote'))).failure, 'tool-unknown')
    assert.equal((await failure(client.deleteTool('remote'))).status, 404)
  })

  it('that are wrong come back with their problems, and nothing is changed', async () => {
    const reply = await client.apply(`${manifest('1.0.0')}---${manifest('not-a-version')}`)
    assert.equal(reply.ok, false)
    assert.equal(
      reply.problems.some(({ severity, path }) => severity === 'error' && path === 'spec.version'),
      true,
    )
    assert.equal((await failure(client.getTool('remote'))).failure, 'tool-unknown')
  })

  it('live in the namespace that was asked for', async () => {
    const team = connect({ namespace: 'team-a' })
    await team.apply(manifest('1.0.0'))
    assert.equal((await team.getTool('remote')).metadata.namespace, 'team-a')
    assert.equal((await failure(client.getTool('remote'))).failure, 'tool-unknown')
    assert.equal((await failure(connect({ namespace: 'Not A Name' }).listTools())).kind, 'refused')
  })
})

describe('explain', () => {
  it('says what every stage would answer, and sends nothing', async () => {
    const before = harness.effects.done.length
    const allowed = await client.explain(v1('post', { text: 'explained' }))
    assert.equal(allowed.decision, 'allow')
    assert.ok(allowed.stages.length > 5)
    const waiting = await client.explain(v1('pay', { amount: 5000 }))
    assert.equal(waiting.decision, 'require-approval')
    const wrong = await client.explain(v1('post', {}))
    assert.equal(wrong.error?.details.failure, 'input-invalid')
    assert.equal(harness.effects.done.length, before)
    assert.equal((await failure(client.explain({ nonsense: true }))).kind, 'refused')
  })
})

describe('health', () => {
  it('needs no token and tells the time of the server', async () => {
    const health = await connect({ token: 'none' }).health()
    assert.equal(health.ready, true)
    assert.ok(Math.abs((health.at ?? 0) - Date.now()) < 60_000)
  })
})

describe('a server that is not there', () => {
  async function withPeer<T>(peer: NetServer, work: (url: string) => Promise<T>): Promise<T> {
    await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve))
    try {
      return await work(`http://127.0.0.1:${(peer.address() as AddressInfo).port}`)
    } finally {
      peer.closeAllConnections()
      await new Promise((resolve) => peer.close(resolve))
    }
  }

  it('is named with what to do about it, and nothing was sent', async () => {
    const port = await withPeer(createServer(), async (url) => new URL(url).port)
    const error = await failure(connect({ url: `http://127.0.0.1:${port}` }).call(v1('echo', {})))
    assert.equal(error.kind, 'unreachable')
    assert.equal(error.retryable, true)
    assert.match(error.message, new RegExp(`no Writ server at http://127.0.0.1:${port}`))
    assert.equal(error.fix, "run 'writ up' or set WRIT_URL")
  })

  it('is told from one that dies in the middle, after which a call may have run', async () => {
    const peer = createSocketServer((socket) => socket.once('data', () => socket.destroy()))
    await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`
    const error = await failure(connect({ url }).call(v1('echo', {})))
    assert.equal(error.kind, 'interrupted')
    assert.equal(error.retryable, false)
    assert.equal((await failure(connect({ url }).listTools())).retryable, true)
    await new Promise((resolve) => peer.close(resolve))
  })

  it('is told from one that is silent', async () => {
    await withPeer(
      createServer(() => {}),
      async (url) => {
        const error = await failure(connect({ url, timeoutMs: 200 }).listTools())
        assert.equal(error.kind, 'interrupted')
      },
    )
  })

  it('is told from something else that answers there', async () => {
    for (const body of ['<html>hello</html>', '[]', '"x"', '{"status": 1}']) {
      await withPeer(
        createServer((_, response) => response.end(body)),
        async (url) => {
          const error = await failure(connect({ url }).call(v1('echo', {})))
          assert.equal(error.kind, 'unexpected', body)
          assert.ok(error.fix)
        },
      )
    }
  })

  it('never shows the token in a message', async () => {
    const error = await failure(
      connect({ url: 'http://127.0.0.1:1', token: 'very-secret-token' }).listTools(),
    )
    assert.doesNotMatch(`${error.message} ${error.fix} ${error.stack}`, /very-secret-token/)
  })

  it('is refused as an address that is none', () => {
    for (const url of ['', 'nonsense', 'ftp://x'])
      assert.throws(() => createClient({ url, token: 't' }), ClientError)
  })
})

describe('the dispatcher', () => {
  it('of the program is used, and left open', async () => {
    const dispatcher = new Agent()
    const one = createClient({ url: harness.url, token: TOKEN, dispatcher })
    assert.equal((await one.call(v1('echo', {}))).state, 'succeeded')
    await one.close()
    assert.equal((await one.call(v1('echo', {}))).state, 'succeeded')
    await dispatcher.close()
  })

  it('finds a server below a path', async () => {
    const error = await failure(connect({ url: `${harness.url}/below` }).listTools())
    assert.equal(error.status, 404)
  })
})
