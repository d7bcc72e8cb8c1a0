// Who is told what where a secret cannot be had: callers what and how to mend it, the operator also where it was looked for.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { LiveResources } from '../../src/catalog/resource-door.ts'
import { createCredentials } from '../../src/credential/create-credentials.ts'
import type { CredentialTrouble, NotPresented, SecretProvider } from '../../src/credential/credential.ts'
import { createEvents } from '../../src/event/event.ts'
import { createRuntime } from '../../src/index.ts'
import { createWorld } from '../../src/runtime.ts'
import { stores } from '../../src/store/registry.ts'
import { Abort } from '../../src/util/abort.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { listenHttp, sendJson } from '../transport/tool-peer.ts'
import { folderOf, openProvider } from './provider-harness.ts'

/** What a caller is told of a secret that this provider cannot read, and what the operator is. */
async function trouble(t: TestContext, provider: SecretProvider) {
  const world = createWorld()
  t.after(() => world.network.destroy())
  const told: CredentialTrouble[] = []
  const credentials = createCredentials({
    world,
    providers: [provider],
    onTrouble: (one) => told.push(one),
  })
  const need = {
    namespace: 'default',
    auth: { profile: 'bearer', secretRef: 'mail', scopes: [] },
  } as const
  let refusal: NotPresented | undefined
  // The second time the operator knows already.
  for (let time = 0; time < 2; time++) {
    const result = await credentials.present(need, new Abort())
    assert.ok(!result.ok)
    refusal = result.refusal
  }
  const [first, second] = told
  assert.equal(second, undefined, JSON.stringify(second))
  assert.deepEqual([first?.namespace, first?.name], ['default', 'mail'])
  return { message: refusal?.message ?? '', transient: refusal?.transient, told: first }
}

async function closedPort(): Promise<string> {
  const peer = await listenHttp((_request, response) => sendJson(response, {}))
  await peer.close()
  return peer.origin
}

describe('where a secret cannot be had', () => {
  it('callers are not told where vault is', async (t) => {
    const address = await closedPort()
    const provider = await openProvider(
      t,
      { type: 'vault', address, token_env: 'T' },
      { env: { T: 'hvs.t' } },
    )
    const { message, told } = await trouble(t, provider)
    assert.match(message, /'mail' cannot be read for now: vault cannot be reached\. Fix: /)
    assert.ok(!message.includes(new URL(address).host), message)
    assert.equal(told?.provider, 'vault')
    assert.ok(told.why.includes(address), told.why)
  })

  it('callers are not told where the Kubernetes API is', async (t) => {
    const server = (await closedPort()).replace('http:', 'https:')
    const folder = folderOf(t)
    const config = {
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
      clusters: [{ name: 'k', cluster: { server } }],
      users: [{ name: 'u', user: { token: 'account-token' } }],
    }
    writeFileSync(join(folder, 'config'), JSON.stringify(config), { mode: 0o600 })
    const provider = await openProvider(t, { type: 'kubernetes', kubeconfig: 'config' }, { folder })
    const { message, told } = await trouble(t, provider)
    assert.match(message, /the Kubernetes API cannot be reached\. Fix: /)
    assert.ok(!message.includes(new URL(server).host), message)
    assert.ok(told?.why.includes(server), told?.why)
  })

  it('callers are not told the path of a file of the server', async (t) => {
    const folder = folderOf(t)
    writeFileSync(join(folder, 'token'), 'hvs.t', { mode: 0o644 })
    const settings = { type: 'vault', address: 'http://127.0.0.1:1', token_file: 'token' } as const
    const { message, told } = await trouble(t, await openProvider(t, settings, { folder }))
    assert.match(message, /the token for vault cannot be read\. Fix: /)
    assert.ok(!message.includes(folder), message)
    assert.ok(told?.why.includes(folder), told?.why)
  })

  it('an error that nobody expected says only where it came from', async (t) => {
    const provider: SecretProvider = { name: 'bad', read: () => Promise.reject(new TypeError('canary')) }
    const { message, told } = await trouble(t, provider)
    assert.match(message, /its provider failed/)
    assert.match(told?.why ?? '', /^TypeError at /)
    assert.ok(!JSON.stringify([message, told]).includes('canary'))
  })
})

const TOOL = (endpoint: string) => `
apiVersion: writ.dev/v1
kind: Secret
metadata: {name: mail}
spec: {stringData: {value: canary-value-0001}}
---
apiVersion: writ.dev/v1
kind: Tool
metadata: {name: mailer}
spec:
  type: http
  endpoint: ${endpoint}
  effect: {class: read-only}
  runtime: {retry: {max_attempts: 4, backoff: 1ms}}
  auth: {profile: bearer, secretRef: mail}
`

describe('a secret in the store', () => {
  async function house(t: TestContext, masterKey: Uint8Array) {
    const peer = await listenHttp((_request, response) => sendJson(response, 'sent'))
    t.after(() => peer.close())
    const store = await (await stores.memory())({ world: createSystemWorld(), onFailed: () => {} })
    const events = createEvents()
    const attempts: (number | null)[] = []
    const told: string[] = []
    events.on('attempt:failed', ({ retry_in_ms: retryMs }) => attempts.push(retryMs))
    events.on('secret:failed', ({ provider, why }) => told.push(`${provider}: ${why}`))
    const runtime = await createRuntime({
      store: { kind: 'given', store },
      masterKey,
      events,
      onWarning() {},
    })
    t.after(() => runtime.close())
    const applied = await runtime.resources.apply([{ file: 'tool.yaml', text: TOOL(`${peer.origin}/send`) }])
    assert.ok(applied.ok, JSON.stringify(applied.problems))
    const agent = runtime.as({ actor: 'agent', permissions: ['tool:mailer:invoke'] })
    return { runtime, store, peer, attempts, told, call: () => agent.call({ tool: 'mailer' }) }
  }

  it('that was damaged fails at once and for good, says how to mend it, and works again once it is', async (t) => {
    const { runtime, store, peer, attempts, told, call } = await house(t, new Uint8Array(32))
    assert.equal((await call()).state, 'succeeded')
    const [kept] = await store.resources.list({ kind: 'Secret' })
    const body = kept?.body as { spec: { data: { value: string } } }
    const { value } = body.spec.data
    const spoiled = { ...body, spec: { ...body.spec, data: { value: `${value.slice(0, -8)}AAAAAAAA` } } }
    const put = { digest: 'sha256:spoiled', body: spoiled as never }
    await store.resources.apply('default', [{ kind: 'Secret', name: 'mail', version: '0.0.0', put }], 1, [])
    await (runtime.resources as LiveResources).refresh()
    attempts.length = 0
    const failed = await call()
    assert.deepEqual([failed.state, failed.failure?.id, failed.effect], ['failed', 'secret-missing', 'none'])
    assert.equal(failed.failure?.retryable, false)
    assert.match(
      failed.failure?.message ?? '',
      /the secret 'mail' cannot be read: it was damaged in the store\. Fix: apply it anew with all its values/,
    )
    assert.deepEqual(attempts, [null], 'one attempt, and no other')
    assert.match(
      told.join('\n'),
      /^store: secret default\/mail cannot be opened: the value of value was changed/,
    )
    assert.equal(peer.received.length, 1)
    const mended = await runtime.resources.apply([{ file: 'tool.yaml', text: TOOL(`${peer.origin}/send`) }])
    assert.ok(mended.ok, JSON.stringify(mended.problems))
    assert.equal((await call()).state, 'succeeded')
  })
})
