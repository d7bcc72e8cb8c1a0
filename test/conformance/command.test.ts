// writ conformance, from its words to its exit code.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { dispatch } from '../../src/cli/dispatch.ts'
import type { Report } from '../../src/conformance/report.ts'
import { createRecordingTerminal } from '../cli/recording-terminal.ts'
import { failed, startService, unsupported } from './service.ts'
import { parseXml } from './xml.ts'

// Other tests run at the same time: what is left behind shows only in a folder of our own.
process.env.TMPDIR = mkdtempSync(join(tmpdir(), 'writ-test-'))
after(() => rmSync(tmpdir(), { recursive: true }))

async function run(words: readonly string[], cwd?: string) {
  const terminal = createRecordingTerminal(cwd === undefined ? {} : { cwd })
  const exit = await dispatch(['conformance', ...words], terminal)
  return { exit, ...terminal.written }
}

describe('writ conformance', () => {
  it('prints a table by group and exits with 0 when nothing failed', async () => {
    const { exit, out, err } = await run(['--backend', 'native'])
    assert.equal(exit, 0, err)
    assert.match(out, /^GROUP +PASSED +STATUS\nC1 Contract compliance +5\/5 +passed\n/)
    assert.match(out, /\nC4 Auth and secret handling +2\/4 +limited\n/)
    assert.match(
      out,
      /\nLimited\n {2}C4\.1 auth\.secret_ref is resolved .*\n {7}Nothing is presented to a function/,
    )
    assert.match(out, /\nnative: 26 passed, 4 limited in [\d.]+ s\n$/)
    assert.equal(err, '')
  })

  it('exits with 1 when a requirement failed, and writes JUnit beside the result', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'writ-test-'))
    const service = await startService(async (asked, honest) =>
      asked.tool.operation === 'fail' ? failed(asked, String(asked.input.code), true) : honest(),
    )
    try {
      const words = ['--endpoint', service.url, '--type', 'external', '--junit', 'out.xml', '-o', 'json']
      const { exit, out, err } = await run(words, folder)
      assert.equal(exit, 1, err)
      const report = JSON.parse(out) as Report
      assert.equal(report.subject, service.url)
      assert.equal(report.counts.failed, 3)
      const xml = parseXml(readFileSync(join(folder, 'out.xml'), 'utf8'))
      assert.equal(xml.attributes.failures, '3')
    } finally {
      await service.close()
      rmSync(folder, { recursive: true })
    }
  })

  it('shows what was not tested, which is no failure', async () => {
    const service = await startService((asked, honest) =>
      asked.tool.operation === 'sleep' ? Promise.resolve(unsupported(asked)) : honest(),
    )
    try {
      const { exit, out } = await run(['--endpoint', service.url, '--type', 'external'])
      assert.equal(exit, 0)
      assert.match(out, /\nC2 Timeout and cancellation +0\/4 +not tested\n/)
      assert.match(out, /\nNot tested\n {2}C2\.1 .*\n {7}the tool does not offer 'sleep': no such operation/)
    } finally {
      await service.close()
    }
  })

  it('says that a service cannot be reached, and exits with 1', async () => {
    const service = await startService()
    await service.close()
    const { exit, out, err } = await run(['--endpoint', service.url, '--type', 'external'])
    assert.equal(exit, 1)
    assert.equal(out, '')
    assert.match(err, /cannot be reached\n/)
    assert.match(err, /\nFix: check the address/)
  })

  for (const [words, message] of [
    [[], /there is nothing to test/],
    [['--backend', 'nativ'], /did you mean 'native'\?/],
    [['--backend', 'http', '--endpoint', 'http://x/'], /--backend excludes --endpoint/],
    [['--endpoint', 'http://127.0.0.1:1/'], /--endpoint needs --type/],
    [['--endpoint', 'somewhere', '--type', 'external'], /which is no address/],
    [['--endpoint', 'ftp://127.0.0.1/', '--type', 'external'], /which is no address/],
    [['--endpoint', 'http://a:b@127.0.0.1:1/', '--type', 'external'], /holds a user name or password/],
    [['--backend', 'http', '--timeout', '1m'], /--timeout must be from 500ms to 10000ms/],
  ] as const) {
    it(`refuses '${words.join(' ')}' with exit code 2`, async () => {
      const { exit, out, err } = await run(words)
      assert.equal(exit, 2, err)
      assert.equal(out, '')
      assert.match(err, message)
      assert.match(err, /\nFix: /)
    })
  }

  it('refuses a file that cannot be written before it tests anything', async () => {
    let asked = 0
    const service = await startService((_asked, honest) => {
      asked++
      return honest()
    })
    try {
      const words = ['--endpoint', service.url, '--type', 'external', '--junit', 'no-such-folder/out.xml']
      const { exit, err } = await run(words)
      assert.equal(exit, 2)
      assert.match(err, /no-such-folder.*cannot be written/)
      assert.equal(asked, 0)
    } finally {
      await service.close()
    }
  })

  it('leaves nothing in the folder for temporary files', () => {
    assert.deepEqual(readdirSync(tmpdir()), [])
  })
})
