// The guide on long work: its shell lines do what the text says, and its example service works by itself.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startReports } from '../../examples/callback-tool/server.ts'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createRuntime } from '../../src/runtime.ts'
import { follow, isFree, textOf } from './guide.ts'

const GUIDE = 'docs/guide/webhook-callback.md'

describe('the guide on long work', () => {
  it('shows work that outlives its server, and is sent once', async (t) => {
    if (!(await isFree(7505))) return t.skip('port 7505 is taken. Fix: stop what listens there')
    const { written } = await follow(t, { path: GUIDE, data: '.writ-long' })
    assert.match(written, /Tool default\/yearly-report 1\.0\.0 created/)
    assert.match(written, /"year": 2025/)
    assert.match(written, /"year": 2026/, written)
    assert.equal(written.match(/"pages": 12/g)?.length, 2, written)
  })

  it('has a service whose work is asked for, and sent once for a key', async (t) => {
    const reports = await startReports()
    const runtime = await createRuntime({ onWarning: () => {} })
    t.after(async () => {
      await runtime.close({ drainMs: 0 })
      await reports.stop()
    })
    const text = textOf('examples/callback-tool/tool.yaml')
      .replace('http://127.0.0.1:7505/', reports.url)
      .replace('poll: 2s', 'poll: 100ms')
    const { problems } = await runtime.resources.apply([{ text, file: 'tool.yaml' }])
    assert.deepEqual(problems, [])
    const door = runtime.as(createLocalAdmin())
    const request = { tool: 'yearly-report', input: { year: 2026, seconds: 0.1 }, idempotencyKey: 'y' }
    const [one, two] = await Promise.all([door.call(request), door.call(request)])
    assert.deepEqual(
      [one.output, two.output],
      [
        { year: 2026, pages: 12 },
        { year: 2026, pages: 12 },
      ],
    )
    assert.equal(reports.reports.size, 1)
  })
})
