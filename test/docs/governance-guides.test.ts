// The guides on explaining and freezing, and the README's approval: their shell lines do what the text says.
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startBank } from '../../examples/external-tool/server.ts'
import { ROOT } from '../../scripts/repo-files.ts'
import { readPolicyCases } from '../../src/cli/read-policy-cases.ts'
import { runWrit, startUp } from '../cli/writ-process.ts'
import { folderFor, follow, paste, shownIn, textOf } from './guide.ts'

describe('the guide on explaining', () => {
  it('shows a denial with its rule, and what monitor mode would have done', async (t) => {
    const { data, written } = await follow(t, {
      path: 'docs/guide/explain.md',
      data: '.writ-explain',
      holds: 'explain call',
    })
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
    const cases = shownIn('docs/guide/explain.md', 'yaml')
    assert.deepEqual(readPolicyCases(cases, 'cases.yaml').problems, [])
    const script = shownIn('docs/guide/explain.md', 'sh', 'policy test')
    assert.equal(await paste(t, script), '5 cases, all hold\n')
  })
})

describe('the guide on the kill switch', () => {
  it('S44: shows a call that is refused while its tool is frozen, and allowed after', async (t) => {
    const { written } = await follow(t, {
      path: 'docs/guide/freeze.md',
      data: '.writ-freeze',
      holds: 'writ thaw',
    })
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
    const data = folderFor(t)
    const env = { WRIT_DATA: data }
    const server = await startUp({ cwd: ROOT, env })
    t.after(() => server.stop())
    const manifest = textOf('examples/external-tool/tool.yaml')
    const tool = join(data, 'tool.yaml')
    writeFileSync(tool, manifest.replace('http://127.0.0.1:7502/', bank.url))
    const applied = await runWrit(['apply', '-f', tool], { cwd: ROOT, env })
    assert.equal(applied.code, 0, applied.err)
    const written = await paste(t, shownIn('README.md', 'sh', 'writ approve'), env)
    assert.match(written, /^awaiting-approval {2}effect: pending/m)
    assert.match(written, /^Requester: +agent-7 \(agent\)$/m)
    assert.match(written, /"amount": 700/)
    assert.match(written, /^\S+ is approved$/m)
    assert.match(written, /^succeeded {2}effect: done/m)
    assert.equal(bank.transfers.size, 1, 'once')
  })
})
