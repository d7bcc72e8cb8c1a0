// `writ up` with callbacks: what is wrong about their settings is said before the server starts.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runWrit } from './writ-process.ts'

const cwd = mkdtempSync(join(tmpdir(), 'writ-callback-'))
after(() => rmSync(cwd, { recursive: true, force: true }))

test('an origin that is none, and a secret that is missing or open to others, stop the start', async () => {
  writeFileSync(join(cwd, 'open'), 'a-secret-0123456789', { mode: 0o644 })
  const cases = [
    [
      { WRIT_CALLBACK_ALLOW: 'https://a.example/path' },
      /callback_allow: 'https:\/\/a.example\/path' is no origin/,
    ],
    [{ WRIT_CALLBACK_ALLOW: 'https://a.example' }, /name the file of a secret with callback_key/],
    [
      { WRIT_CALLBACK_ALLOW: 'https://a.example', WRIT_CALLBACK_KEY: 'nowhere' },
      /callback_key: .*cannot be read/,
    ],
    [{ WRIT_CALLBACK_ALLOW: 'https://a.example', WRIT_CALLBACK_KEY: 'open' }, /chmod 600/],
  ] as const
  for (const [env, message] of cases) {
    const up = await runWrit(['up', '--port', '0'], { cwd, env })
    assert.notEqual(up.code, 0)
    assert.match(up.err, message)
  }
})
