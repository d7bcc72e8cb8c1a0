// The guides on HTTP services and on those that speak the contract: their lines do what the text says, and what they show can be used.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startBank } from '../../examples/external-tool/server.ts'
import { readManifests } from '../../src/resource/manifest.ts'
import { createRuntime } from '../../src/runtime.ts'
import { isJsonObject, type Json } from '../../src/util/json.ts'
import { until } from '../pipeline/until.ts'
import { listenHttp, sendJson } from '../transport/tool-peer.ts'
import { follow, isFree, pageOf, shownIn, textOf } from './guide.ts'

const HTTP = 'docs/guide/http.md'
const EXTERNAL = 'docs/guide/external.md'

/** The example listens where its manifest says; another test may be there for a moment. */
const free = (port: number) => until(() => isFree(port), 60_000)

/** Every field of a document, by its path. */
function fieldsOf(value: Json, path = ''): readonly string[] {
  if (!isJsonObject(value)) return [path]
  return Object.entries(value)
    .flatMap(([name, one]) => fieldsOf(one ?? null, `${path}/${name}`))
    .sort()
}

describe('the guide on HTTP services', () => {
  it('shows a call that is answered, one that the service refuses, and one that never leaves', async (t) => {
    await free(7501)
    const { written } = await follow(t, { path: HTTP, data: '.writ-http' })
    assert.match(written, /Tool default\/weather 1\.0\.0 created/)
    assert.match(written, /"degrees": 4/)
    assert.match(written, /upstream-rejected: .*404/)
    assert.equal(written.match(/^ {2}\w+_status: 404$/gm)?.length, 1, 'one status is said once')
    assert.match(written, /^ {2}\/town is not a known field/m)
  })

  it('has a manifest that can be applied', () => {
    const { problems } = readManifests(shownIn(HTTP, 'yaml'), HTTP)
    assert.deepEqual(problems, [])
  })
})

describe('the guide on services that speak the contract', () => {
  it('shows a key that is answered without a send, and the words of the service', async (t) => {
    await free(7502)
    const { written } = await follow(t, { path: EXTERNAL, data: '.writ-external' })
    assert.match(written, /Tool default\/transfer 1\.0\.0 created/)
    assert.equal(written.match(/"number": 1/g)?.length, 2)
    assert.match(written, /^succeeded {2}effect: done .*replayed/m)
    assert.match(written, /no such account/)
  })

  it('shows a request that its example answers, and a reply as the example gives it', async (t) => {
    const [request = '', reply = ''] = pageOf(EXTERNAL)
      .fences.filter(({ language }) => language === 'json')
      .map(({ text }) => text)
    const bank = await startBank()
    t.after(() => bank.stop())
    const send = async (body: object) => {
      const response = await fetch(bank.url, { method: 'POST', body: JSON.stringify(body) })
      return (await response.json()) as Record<string, unknown>
    }
    const asked = JSON.parse(request)
    assert.deepEqual((await send(asked)).output, { to: 'alice', amount: 5, number: 1 })
    assert.deepEqual(await send({ ...asked, input: { to: 'nobody', amount: 5 } }), JSON.parse(reply))
  })

  it('S19: shows the fields that are really sent, and a key of the form that a service is given', async (t) => {
    const shown = JSON.parse(shownIn(EXTERNAL, 'json', '"input"'))
    const peer = await listenHttp((request, response) => {
      const { request_id } = JSON.parse(request.body)
      sendJson(response, { tool_contract_version: 'v1', request_id, status: 'ok', output: {} })
    })
    t.after(() => peer.close())
    const runtime = await createRuntime()
    t.after(() => runtime.close({ drainMs: 0 }))
    const example = textOf('examples/external-tool/tool.yaml')
    const text = example.replace('http://127.0.0.1:7502', peer.origin)
    const { problems } = await runtime.resources.apply([{ text, file: 'tool.yaml' }])
    assert.deepEqual(problems, [])
    const caller = runtime.as({ actor: 'agent', permissions: ['tool:transfer:invoke'] })
    await caller.call({ tool: 'transfer', input: shown.input, idempotencyKey: 'rent' })
    const [request] = peer.received
    const sent = JSON.parse(request?.body ?? '')
    assert.deepEqual(fieldsOf(shown), fieldsOf(sent))
    for (const { idempotency_key: key } of [shown, sent]) assert.match(key, /^[\w-]{43}$/)
  })
})
