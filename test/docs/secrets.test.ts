// The guide on secrets: its shell lines do what the text says, and its file of providers can be read.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startForecasts } from '../../examples/secrets/server.ts'
import { ROOT } from '../../scripts/repo-files.ts'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { readProviderSettings } from '../../src/credential/provider-schema.ts'
import { createRuntime } from '../../src/runtime.ts'
import { runWrit, startUp } from '../cli/writ-process.ts'
import { folderFor, shownIn, textOf } from './guide.ts'

const GUIDE = 'docs/guide/secrets.md'

describe('the guide on secrets', () => {
  it('shows a credential that is used, changed at once, and never seen', async (t) => {
    const script = shownIn(GUIDE, 'sh')
    const cwd = folderFor(t)
    const service = await startForecasts(new Set(['first-token-0001', 'second-token-0002']))
    t.after(() => service.stop())
    const server = await startUp({ cwd })
    t.after(() => server.stop('SIGKILL'))
    // The very lines, one after the other, on ports that are free.
    const said: string[] = []
    for (const line of script.split('\n')) {
      const [, input = '', words = ''] = /^(?:echo (\S+) \| )?bin\/writ (?!up)(.+)$/.exec(line) ?? []
      if (words === '') continue
      const args = words.split(' ').map((word) => (word.startsWith('examples/') ? join(ROOT, word) : word))
      if (words.startsWith('apply')) args.splice(1, 2, '-f', '-')
      const manifest = textOf('examples/secrets/tool.yaml').replace('http://127.0.0.1:7506/', service.url)
      const done = await runWrit(args, { cwd, input: words.startsWith('apply') ? manifest : input })
      said.push(`${done.code} ${done.out}${done.err}`)
    }
    const [
      applied = '',
      missing = '',
      first = '',
      answer = '',
      second = '',
      changed = '',
      list,
      rotated,
      last,
    ] = said
    assert.match(applied, /^0 /)
    assert.match(missing, /^[67] .*secret/s)
    for (const set of [first, second]) assert.match(set, /^0 secret weather-api value set/)
    for (const one of [answer, changed, last]) assert.match(one ?? '', /^0 .*"forecast": "sunny"/s)
    assert.match(list ?? '', /weather-api +value/)
    assert.match(rotated ?? '', /Rewrapped: +1/)
    assert.equal(said.length, 9)
    const { out, err } = await server.stop()
    for (const text of [...said, out, err]) assert.ok(!/(first|second)-token/.test(text), text)
  })

  it('has a tool and a secret that go together', async (t) => {
    const service = await startForecasts(new Set(['example-token-0000']))
    t.after(() => service.stop())
    const runtime = await createRuntime({ onWarning: () => {} })
    t.after(() => runtime.close())
    const tool = textOf('examples/secrets/tool.yaml').replace('http://127.0.0.1:7506/', service.url)
    for (const text of [tool, textOf('examples/secrets/secret.yaml')]) {
      const { ok, problems } = await runtime.resources.apply([{ text, file: 'x' }])
      assert.equal(ok, true, JSON.stringify(problems))
    }
    const answer = await runtime.as(createLocalAdmin('default')).call({ tool: 'forecast' })
    assert.equal(answer.state, 'succeeded', JSON.stringify(answer))
    assert.ok(!JSON.stringify(answer).includes('example-token'))
  })

  it('has a file of providers that can be read', () => {
    const text = shownIn(GUIDE, 'yaml', 'type: vault')
    const { settings, problems } = readProviderSettings(text, 'providers.yaml', { profile: 'production' })
    assert.deepEqual(problems, [])
    assert.equal(settings.length, 5)
  })
})
