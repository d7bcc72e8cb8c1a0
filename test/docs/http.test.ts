// The guides on HTTP services and on those that speak the contract: their lines do what the text says, and what they show can be used.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startBank } from '../../examples/external-tool/server.ts'
import { readManifests } from '../../src/resource/manifest.ts'
import { until } from '../pipeline/until.ts'
import { follow, isFree, pageOf, shownIn } from './guide.ts'

const HTTP = 'docs/guide/http.md'
const EXTERNAL = 'docs/guide/external.md'

/** The example listens where its manifest says; another test may be there for a moment. */
const free = (port: number) => until(() => isFree(port), 60_000)

describe('the guide on HTTP services', () => {
  it('shows a call that is answered, one that the service refuses, and one that never leaves', async (t) => {
    await free(7501)
    const { written } = await follow(t, { path: HTTP, data: '.writ-http' })
    assert.match(written, /Tool default\/weather 1\.0\.0 created/)
    assert.match(written, /"degrees": 4/)
    assert.match(written, /upstream-rejected: .*404/)
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
})
