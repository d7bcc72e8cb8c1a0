// The guide on programs: its shell lines do what the text says, and its example works.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createRuntime } from '../../src/runtime.ts'
import { follow, textOf } from './guide.ts'

const GUIDE = 'docs/guide/cli.md'

describe('the guide on programs', () => {
  it('shows a program that is given one argument, whatever is in it, and one that is not allowed', async (t) => {
    const { written } = await follow(t, { path: GUIDE, data: '.writ-cli' })
    assert.match(written, /Tool default\/disk-usage 1\.0\.0 created/)
    assert.match(written, /"stdout": "\d+\\t.*\/docs\\n"/)
    assert.match(written, /exit code 1/)
    assert.doesNotMatch(written, /uid=/)
    assert.match(written, /^input-invalid: /m)
    assert.match(written, /^capability-denied: /m)
  })

  it('has an example that signs with a key that nobody sees', async (t) => {
    const runtime = await createRuntime({ onWarning: () => {}, cliAllow: ['du', process.execPath] })
    t.after(() => runtime.close({ drainMs: 0 }))
    const key = 'a-signing-key-0123456789'
    const secret = `apiVersion: writ.dev/v1\nkind: Secret\nmetadata: {name: signing-key}\nspec: {stringData: {value: ${key}}}\n`
    const text = textOf('examples/cli-tool/tool.yaml').replace(
      'command: node',
      `command: ${process.execPath}`,
    )
    const { problems } = await runtime.resources.apply([{ text: `${secret}---\n${text}`, file: 'tool.yaml' }])
    assert.deepEqual(problems, [])
    const answer = await runtime.as(createLocalAdmin()).call({ tool: 'sign', input: { text: 'hello' } })
    assert.deepEqual(answer.output, { signature: createHmac('sha256', key).update('hello').digest('hex') })
  })
})
