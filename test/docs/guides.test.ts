// What the guides promise: their shell lines do what the text says, and their tables hold all that there is.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startBank } from '../../examples/external-tool/server.ts'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { TOKEN_REFUSALS } from '../../src/identity/authenticate.ts'
import { readOidcConfig } from '../../src/identity/oidc-config.ts'
import { createRuntime } from '../../src/runtime.ts'
import { follow, isFree, pageOf, textOf } from './guide.ts'

describe('the durability guide', () => {
  it('shows a kill -9 that leaves an unknown effect, and a key that does not send again', async (t) => {
    if (!(await isFree(7504))) return t.skip('port 7504 is taken. Fix: stop what listens there')
    const { data, written } = await follow(t, {
      path: 'docs/guide/durability.md',
      data: '.writ-crash',
      holds: 'kill -9',
    })
    assert.match(written, /Tool default\/silent 1\.0\.0 created/)
    assert.match(written, /^\S+ +silent +\S+ +unknown +unknown /m)
    assert.match(written, /^outcome-unknown: /m)
    assert.equal(existsSync(join(data, 'server.json')), false, 'the last line stops the server')
  })
})

describe('the guide on unknown outcomes', () => {
  it('shows an effect that a person settles, and a key that is then answered without a send', async (t) => {
    if (!(await isFree(7504))) return t.skip('port 7504 is taken. Fix: stop what listens there')
    const { written } = await follow(t, {
      path: 'docs/guide/unknown.md',
      data: '.writ-unknown',
      holds: 'calls settle',
    })
    assert.match(written, /^\S+ +silent +unknown +\d+s +1 +\S+ +a person: settle$/m)
    assert.match(written, /^\S+ is settled as done: succeeded$/m)
    assert.match(written, /^succeeded {2}effect: done .*replayed/m)
    assert.match(written, /"sent": true/)
  })
})

describe('the guide on identity', () => {
  it('shows a token that is issued, used, revoked, and refused', async (t) => {
    const { data, written } = await follow(t, {
      path: 'docs/guide/identity.md',
      data: '.writ-identity',
      holds: 'token revoke',
    })
    assert.match(written, /^Valid: +yes$/m)
    assert.match(written, /^Permissions: +tool:weather:invoke, resource:read$/m)
    assert.match(written, /lacks resource:write/)
    assert.match(written, /^every token of agent-7 until now is revoked$/m)
    assert.match(written, /^Valid: +no: The token was revoked\.$/m)
    assert.match(written, /^Key: +\S+$/m)
    assert.equal(existsSync(join(data, 'server.json')), false, 'the last line stops the server')
  })

  it('has issuers that can be read, and lists every reason of a refusal', () => {
    const { fences, code } = pageOf('docs/guide/identity.md')
    const file = fences.find(({ language }) => language === 'yaml')
    const read = readOidcConfig(file?.text ?? '', 'oidc.yaml')
    assert.ok(read.ok, JSON.stringify(read))
    const shown = new Set(code.map(({ text }) => text))
    assert.deepEqual(
      Object.keys(TOKEN_REFUSALS).filter((reason) => reason !== 'unavailable' && !shown.has(reason)),
      [],
    )
  })
})

describe('getting started', () => {
  it('explains a call that would wait, after the lines before it were run', async (t) => {
    const bank = await startBank()
    t.after(() => bank.stop())
    const runtime = await createRuntime()
    t.after(() => runtime.close({ drainMs: 0 }))
    const text = textOf('examples/external-tool/tool.yaml').replace('http://127.0.0.1:7502/', bank.url)
    assert.equal((await runtime.resources.apply([{ text, file: 'tool.yaml' }])).ok, true)
    const door = runtime.as(createLocalAdmin())
    const lines = pageOf('docs/guide/getting-started.md')
      .fences.flatMap((fence) => fence.text.split('\n'))
      .filter((line) => line.includes(' transfer --set '))
    const requests = lines.map((line) => ({
      explain: line.includes('explain'),
      tool: 'transfer',
      input: {
        to: /to=(\w+)/.exec(line)?.[1] ?? '',
        amount: Number(/amount=(\d+)/.exec(line)?.[1]),
      },
      key: /--key (\S+)/.exec(line)?.[1],
    }))
    assert.equal(requests.filter(({ explain }) => explain).length, 1)
    for (const { explain, tool, input, key } of requests) {
      const request = { tool, input, ...(key === undefined ? {} : { idempotencyKey: key }) }
      if (explain) assert.equal((await door.explain(request)).decision, 'require-approval')
      else await door.call(request)
    }
  })
})

describe('the embedding guide', () => {
  it('lists every event', () => {
    const [, map = ''] = /export interface EventMap \{\n(.*?)\n\}\n/s.exec(textOf('src/event/event.ts')) ?? []
    const events = [...map.matchAll(/^ {2}'(\w+:\w+)'/gm)].map(([, name]) => name ?? '')
    assert.ok(events.length >= 8)
    const shown = new Set(pageOf('docs/guide/embedding.md').code.map(({ text }) => text))
    assert.deepEqual(
      events.filter((name) => !shown.has(name)),
      [],
    )
  })
})

describe('the contributing guide', () => {
  it('runs scripts with the Node of the checkout, whatever the machine has', () => {
    const own = pageOf('CONTRIBUTING.md').code.filter(({ text }) => text.includes('node scripts/'))
    assert.ok(own.length > 0)
    assert.deepEqual(
      own.filter(({ text }) => !text.startsWith('npx node scripts/')),
      [],
    )
  })
})
