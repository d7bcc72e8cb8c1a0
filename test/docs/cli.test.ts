// The guide on programs: its shell lines do what the text says, and its example works.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { ROOT } from '../../scripts/repo-files.ts'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createRuntime } from '../../src/runtime.ts'
import { readPage } from './markdown.ts'

const GUIDE = 'docs/guide/cli.md'
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

describe('the guide on programs', () => {
  it('shows a program that is given one argument, whatever is in it, and one that is not allowed', async (t) => {
    const data = mkdtempSync(join(tmpdir(), 'writ-guide-'))
    t.after(() => rmSync(data, { recursive: true }))
    const { fences } = readPage(GUIDE, read(GUIDE))
    const script = fences.find(({ language }) => language === 'sh')?.text ?? ''
    assert.ok(script.includes('WRIT_DATA=.writ-cli'))
    const written = await paste(t, script.replace('.writ-cli', data))
    assert.match(written, /Tool default\/disk-usage 1\.0\.0 created/)
    assert.match(written, /"stdout": "\d+\\t.*\/docs\\n"/)
    assert.match(written, /exit code 1/)
    assert.doesNotMatch(written, /uid=/)
    assert.match(written, /^input-invalid: /m)
    assert.match(written, /^capability-denied: /m)
  })

  it('has an example that signs with a key that nobody sees', async (t) => {
    const runtime = await createRuntime({ onWarning: () => {}, cliAllow: [process.execPath] })
    t.after(() => runtime.close({ drainMs: 0 }))
    const key = 'a-signing-key-0123456789'
    const secret = `apiVersion: writ.dev/v1\nkind: Secret\nmetadata: {name: signing-key}\nspec: {stringData: {value: ${key}}}\n`
    const text = read('examples/cli-tool/tool.yaml').replace('command: node', `command: ${process.execPath}`)
    const { problems } = await runtime.resources.apply([{ text: `${secret}---\n${text}`, file: 'tool.yaml' }])
    assert.deepEqual(problems, [])
    const answer = await runtime.as(createLocalAdmin()).call({ tool: 'sign', input: { text: 'hello' } })
    assert.deepEqual(answer.output, { signature: createHmac('sha256', key).update('hello').digest('hex') })
  })
})
