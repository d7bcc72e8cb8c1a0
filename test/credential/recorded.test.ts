// The providers of Vault and Kubernetes against what real servers answered when they were recorded (`npm run record`).
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request as send } from 'node:http'
import { describe, it } from 'node:test'
import { startReplay } from './recording/exchange-server.ts'
import { kubernetesCases } from './recording/kubernetes-cases.ts'
import type { Headers, Recording } from './recording/recording.ts'
import { type Cases, replayCase } from './recording/stage.ts'
import { vaultCases } from './recording/vault-cases.ts'

function describeRecorded<S>(name: string, cases: Cases<S>): void {
  const file = new URL(`recording/${name}.json`, import.meta.url)
  const recording: Recording = JSON.parse(readFileSync(file, 'utf8'))
  describe(`${name}, as recorded from ${recording.server}`, () => {
    it('has a recording of every case, and of no other', () => {
      assert.deepEqual(Object.keys(recording.cases), Object.keys(cases), 'Fix: npm run record')
    })

    for (const [holds, play] of Object.entries(cases))
      it(holds, async (t) => {
        const recorded = recording.cases[holds]
        assert.ok(recorded !== undefined, 'it is not recorded. Fix: npm run record')
        const replay = await startReplay(recorded.exchanges)
        t.after(() => replay.close())
        const failed: unknown = await replayCase(play, recorded, replay.url).then(
          () => undefined,
          (error) => error,
        )
        // What fails after a request that differs fails because of it.
        assert.deepEqual(replay.differences, [], 'it sends another request than was recorded')
        if (failed !== undefined) throw failed
        assert.equal(replay.left(), 0, 'it sends fewer requests than were recorded')
      })
  })
}

describe('a recording', () => {
  it('answers nothing but the very request that was recorded', async (t) => {
    const request = { method: 'GET', path: '/v1/x', headers: { 'x-vault-token': 'one' }, body: '' }
    const answer = { status: 200, headers: { 'content-type': 'text/plain' }, body: 'yes' }
    const all = [{}, { method: 'POST' }, { path: '/v1/y' }, { headers: { 'x-vault-token': 'two' } }]
    const replay = await startReplay(all.map(() => ({ request, answer })))
    t.after(() => replay.close())
    const statuses: number[] = []
    for (const other of all) {
      const { path, ...sent } = { ...request, ...other }
      statuses.push(await statusOf(`${replay.url}${path}`, sent))
    }
    statuses.push(await statusOf(`${replay.url}${request.path}`, request))
    assert.deepEqual(statuses, [200, 599, 599, 599, 599], 'the last is one more than was recorded')
    assert.equal(replay.differences.length, 4)
  })
})

async function statusOf(url: string, options: { method: string; headers: Headers }): Promise<number> {
  const sent = send(url, options).end()
  const [reply] = await once(sent, 'response')
  reply.resume()
  return reply.statusCode
}

describeRecorded('vault', vaultCases)
describeRecorded('kubernetes', kubernetesCases)
