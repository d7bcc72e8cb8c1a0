// The guide on long work: its shell lines do what the text says, and its example service works by itself.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { startReports } from '../../examples/callback-tool/server.ts'
import { ROOT } from '../../scripts/repo-files.ts'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createRuntime } from '../../src/runtime.ts'
import { readPage } from './markdown.ts'

const GUIDE = 'docs/guide/webhook-callback.md'
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** As a reader would paste it, into a shell in the checkout. */
function paste(t: TestContext, script: string): Promise<string> {
  const child = spawn('bash', ['-c', script], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch (error) {
      // All of it has ended, as it should.
      assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH')
    }
  })
  let written = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      written += text
    })
  }
  return new Promise((resolve) => child.once('close', () => resolve(written)))
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

describe('the guide on long work', () => {
  it('shows work that outlives its server, and is sent once', async (t) => {
    if (!(await isFree(7505))) return t.skip('port 7505 is taken. Fix: stop what listens there')
    const data = mkdtempSync(join(tmpdir(), 'writ-guide-'))
    t.after(() => rmSync(data, { recursive: true }))
    const { fences } = readPage(GUIDE, read(GUIDE))
    const script = fences.find(({ language }) => language === 'sh')?.text ?? ''
    assert.ok(script.includes('WRIT_DATA=.writ-long'))
    const written = await paste(t, script.replace('.writ-long', data))
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
    const text = read('examples/callback-tool/tool.yaml')
      .replace('http://127.0.0.1:7505/', reports.url)
      .replace('poll: 2s', 'poll: 20ms')
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
