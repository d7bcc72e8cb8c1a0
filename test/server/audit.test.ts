// The evidence of a real server, taken away over HTTP and verified line by line.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Agent, request } from 'undici'
import { readKeptHead } from '../../src/ledger/checkpoint.ts'
import { verify } from '../ledger/audit-fixture.ts'
import { type Harness, startHarness, TOKEN } from './harness.ts'

describe('the audit of a server', () => {
  let h: Harness
  let lines: string[]
  before(async () => {
    h = await startHarness()
    await Promise.all(['a', 'b', 'c'].map((text) => h.call('post', { text })))
    await h.call('echo', { said: 'read' })
    await h.call('post', { wrong: true })
    await h.request('GET', '/v1/audit/head')
    await h.call('post', { text: 'after the first checkpoint' })
    lines = (await h.request('GET', '/v1/audit/export')).text.split('\n').filter((line) => line !== '')
  })
  after(() => h.close())

  it('S39: the export is JSON lines, and verifies without the server', async () => {
    const { headers } = await h.request('GET', '/v1/audit/export')
    assert.equal(headers['content-type'], 'application/x-ndjson; charset=utf-8')
    const { ok, faults, records, checkpoints } = await verify(lines)
    assert.deepEqual(faults, [])
    assert.ok(ok && records > 8 && checkpoints >= 2, `${records} records, ${checkpoints} checkpoints`)
  })

  it('S40: no payload is in it', () => {
    assert.equal(lines.join('\n').includes('after the first checkpoint'), false)
  })

  it('S39: every line that is taken out, doubled or put elsewhere is missed', async () => {
    for (const [at, line] of lines.entries()) {
      assert.equal((await verify(lines.toSpliced(at, 1))).ok, false, `without line ${at + 1}`)
      assert.equal((await verify(lines.toSpliced(at, 0, line))).ok, false, `line ${at + 1} twice`)
      if (at + 1 === lines.length) continue
      const swapped = lines.with(at, lines[at + 1] as string).with(at + 1, line)
      assert.equal((await verify(swapped)).ok, false, `line ${at + 1} after the next`)
    }
  })

  it('S39: every field of a record, link or checkpoint that is changed is noticed', async () => {
    for (const [at, text] of lines.entries()) {
      const line = JSON.parse(text)
      if (line.kind === 'export') continue
      for (const [name, value] of Object.entries(line)) {
        const other = typeof value === 'number' ? value + 1 : `${value}0`
        const changed = lines.with(at, JSON.stringify({ ...line, [name]: other }))
        assert.equal((await verify(changed)).ok, false, `${name} of line ${at + 1}`)
      }
    }
  })

  it('S39: the head is a checkpoint that fits together, and is found in the export', async () => {
    const { status, body } = await h.request('GET', '/v1/audit/head')
    assert.equal(status, 200)
    const head = readKeptHead(JSON.stringify(body))
    assert.ok(head)
    const later = (await h.request('GET', '/v1/audit/export')).text.split('\n').filter((line) => line !== '')
    assert.equal((await verify(later, { head })).head_found, true)
  })

  it('S41: it is for the admin, and takes no parameters', async () => {
    for (const path of ['/v1/audit/head', '/v1/audit/export']) {
      assert.equal((await h.request('GET', path, { token: null })).status, 401)
      assert.equal((await h.request('GET', `${path}?from=1`)).status, 422)
      assert.equal((await h.request('HEAD', path)).status, 200)
    }
  })

  it('S39: whoever stops reading lets the evidence go', async () => {
    const agent = new Agent()
    const { body } = await request(`${h.url}/v1/audit/export`, {
      dispatcher: agent,
      headers: { authorization: `Bearer ${TOKEN}` },
    })
    // Cut off on purpose: that the connection ends is what is asked for.
    body.on('error', () => {})
    body.destroy()
    await agent.destroy()
    const { text } = await h.request('GET', '/v1/audit/export')
    assert.match(text, /"kind":"end"/)
  })
})
