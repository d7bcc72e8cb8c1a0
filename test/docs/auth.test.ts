// The guide on credentials: its manifests apply and work, and its table holds every profile.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { AUTH_PROFILES } from '../../src/resource/resolved-tool.ts'
import { createRuntime } from '../../src/runtime.ts'
import { listenHttp, sendJson } from '../transport/tool-peer.ts'
import { shownIn, textOf } from './guide.ts'

const PATH = 'docs/guide/auth.md'

test('the example of the guide is shown its secret, and does not show it', async (t) => {
  const peer = await listenHttp(({ headers }, response) =>
    sendJson(response, { got: headers.authorization ?? '' }),
  )
  t.after(() => peer.close())
  const runtime = await createRuntime({ onWarning: () => {} })
  t.after(() => runtime.close())
  const manifest = shownIn(PATH, 'yaml').replace('https://orders.example.com', peer.origin)
  const applied = await runtime.resources.apply([{ text: manifest, file: PATH }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
  const answer = await runtime.as(createLocalAdmin()).call({ tool: 'orders', input: { q: 'x' } })
  assert.deepEqual(answer.output, { got: 'Bearer [redacted]' })
  assert.equal(peer.received[0]?.headers.authorization, 'Bearer replace-me-with-the-token')
})

test('every profile is in the table', () => {
  const text = textOf(PATH)
  for (const profile of AUTH_PROFILES) assert.match(text, new RegExp(`^\\| \`${profile}\``, 'm'))
})
