// The guides on explaining and freezing, and the README's approval: their shell lines do what the text says.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { startBank } from '../../examples/external-tool/server.ts'
import { ROOT } from '../../scripts/repo-files.ts'
import { readPolicyCases } from '../../src/cli/read-policy-cases.ts'
import { runWrit, startUp } from '../cli/writ-process.ts'
import { readPage } from './markdown.ts'

const page = (path: string) => readPage(path, readFileSync(join(ROOT, path), 'utf8'))

function shell(path: string, holds: string): string {
  const fence = page(path).fences.find(({ language, text }) => language === 'sh' && text.includes(holds))
  assert.ok(fence, `${path} shows ${holds}`)
  return fence.text
}

/** As a reader would paste it, into a shell in the checkout. */
function paste(t: TestContext, script: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const child = spawn('bash', ['-c', script], {
    cwd: ROOT,
    detached: true,
    env: { ...process.env, ...env },
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

function dataFolder(t: TestContext): string {
  const data = mkdtempSync(join(tmpdir(), 'writ-guide-'))
  t.after(() => rmSync(data, { recursive: true, maxRetries: 5 }))
  return data
}

describe('the guide on explaining', () => {
  it('shows a denial with its rule, and what monitor mode would have done', async (t) => {
    const data = dataFolder(t)
    const script = shell('docs/guide/explain.md', 'explain call')
    assert.ok(script.includes('WRIT_DATA=.writ-explain'))
    const written = await paste(t, script.replace('.writ-explain', data))
    assert.match(written, /^Decision: deny$/m)
    assert.match(written, /^ {2}deny +AgentPolicy\/transfers rules\[0\] +\S+ +policy-denied /m)
    assert.match(written, /^ {2}require-approval +Tool\/transfer .* approval-trigger +more than 100$/m)
    assert.match(
      written,
      /^ {2}AgentPolicy\/transfers rules\[0\] must no longer deny: nobody moves more than 10,000 at once$/m,
    )
    assert.match(written, /^Decision: allow$/m)
    assert.match(written, /^ {2}require-approval +AgentPolicy\/transfers-next rules\[0\] /m)
    assert.equal(existsSync(join(data, 'server.json')), false, 'the last line stops the server')
  })

  it('shows cases that can be read, and a file of them that holds', async (t) => {
    const cases = page('docs/guide/explain.md').fences.find(({ language }) => language === 'yaml')
    assert.deepEqual(readPolicyCases(cases?.text ?? '', 'cases.yaml').problems, [])
    const script = shell('docs/guide/explain.md', 'policy test')
    assert.equal(await paste(t, script), '5 cases, all hold\n')
  })
})

describe('the guide on the kill switch', () => {
  it('S44: shows a call that is refused while its tool is frozen, and allowed after', async (t) => {
    const data = dataFolder(t)
    const script = shell('docs/guide/freeze.md', 'writ thaw')
    assert.ok(script.includes('WRIT_DATA=.writ-freeze'))
    const written = await paste(t, script.replace('.writ-freeze', data))
    assert.match(written, /^tool transfer is frozen$/m)
    assert.match(written, /^tool +transfer +default +finish +local-admin +\d+s +wrong amounts since noon$/m)
    assert.match(written, /^frozen: tool transfer is stopped: wrong amounts since noon$/m)
    assert.match(written, /^tool transfer is thawed$/m)
    assert.match(written, /^Decision: allow$/m)
  })
})

describe('the README', () => {
  it('S45: shows an approval from the question to the outcome', async (t) => {
    const bank = await startBank()
    t.after(() => bank.stop())
    const data = dataFolder(t)
    const env = { WRIT_DATA: data }
    const server = await startUp({ cwd: ROOT, env })
    t.after(() => server.stop())
    const manifest = readFileSync(join(ROOT, 'examples/external-tool/tool.yaml'), 'utf8')
    const tool = join(data, 'tool.yaml')
    writeFileSync(tool, manifest.replace('http://127.0.0.1:7502/', bank.url))
    const applied = await runWrit(['apply', '-f', tool], { cwd: ROOT, env })
    assert.equal(applied.code, 0, applied.err)
    const written = await paste(t, shell('README.md', 'writ approve'), env)
    assert.match(written, /^awaiting-approval {2}effect: pending/m)
    assert.match(written, /^Requester: +agent-7 \(agent\)$/m)
    assert.match(written, /"amount": 700/)
    assert.match(written, /^\S+ is approved$/m)
    assert.match(written, /^succeeded {2}effect: done/m)
    assert.equal(bank.transfers.size, 1, 'once')
  })
})
