// The guide on gRPC: its shell lines do what the text says, its table is the one that holds, and its example works.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startRates } from '../../examples/grpc-tool/server.ts'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { readManifests } from '../../src/resource/manifest.ts'
import { createRuntime } from '../../src/runtime.ts'
import { grpcRefusal } from '../../src/transport/grpc-status.ts'
import { makeOperation } from '../transport/send-fixture.ts'
import { follow, isFree, pageOf, textOf } from './guide.ts'

const GUIDE = 'docs/guide/grpc.md'

describe('the guide on gRPC', () => {
  it('shows a call that is answered, and one that is refused', async (t) => {
    if (!(await isFree(7508))) return t.skip('port 7508 is taken. Fix: stop what listens there')
    const { written } = await follow(t, { path: GUIDE, data: '.writ-grpc' })
    assert.match(written, /Tool default\/exchange 1\.0\.0 created/)
    assert.match(written, /"czk": 253/)
    assert.match(written, /upstream-rejected: .*INVALID_ARGUMENT: no rate for ZZZ/)
  })

  it('has the table of statuses that holds', () => {
    const rows = [...textOf(GUIDE).matchAll(/^\| (`[A-Z_]+`.*?) \| (.+?) \| (yes|no) \|$/gm)]
    const names = rows.flatMap(([, words = '', failures = '', definite]) =>
      [...words.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => ({ name, failures, definite })),
    )
    assert.equal(names.length, 16)
    for (let status = 1; status <= 16; status++) {
      const { failure, definite, details } = grpcRefusal(status, undefined, makeOperation(), undefined)
      const said = names.find(({ name }) => name === details?.grpc_status_name)
      assert.ok(said?.failures.includes(`\`${failure}\``), `${status} is ${failure}`)
      assert.equal(said?.definite, definite ? 'yes' : 'no')
    }
  })

  it('has manifests that can be applied', () => {
    for (const { text } of pageOf(GUIDE).fences.filter(({ language }) => language === 'yaml')) {
      const { problems } = readManifests(text, GUIDE)
      assert.deepEqual(
        problems.filter(({ severity }) => severity === 'error'),
        [],
      )
    }
  })

  it('its example is a governed tool', async (t) => {
    const rates = await startRates()
    t.after(() => rates.stop())
    const runtime = await createRuntime()
    t.after(() => runtime.close({ drainMs: 0 }))
    const text = textOf('examples/grpc-tool/tool.yaml').replace('127.0.0.1:7508', rates.address)
    const applied = await runtime.resources.apply([{ text, file: 'tool.yaml' }])
    assert.deepEqual(applied.problems, [])
    const door = runtime.as(createLocalAdmin())
    const answer = await door.call({ tool: 'exchange', input: { amount: 2, to: 'USD' } })
    assert.deepEqual(answer.output, { eur: 2, usd: 2.16 })
    const none = await door.call({ tool: 'exchange', input: { amount: 2, to: 'ZZZ' } })
    assert.deepEqual([none.failure?.id, none.usage.attempt], ['upstream-rejected', 1])
  })
})
