// What the guide on notifications shows works: its file of targets, and its receiver against a real server.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { ROOT } from '../../scripts/repo-files.ts'
import { APPROVAL_EVENTS } from '../../src/contract/approval-event.ts'
import { readTargets } from '../../src/notify/read-targets.ts'
import { makeApproval, place, SECRET, startReceiver, webhookChannel } from '../notify/fixture.ts'
import { until } from '../pipeline/until.ts'
import { readPage } from './markdown.ts'

const PATH = 'docs/guide/notifications.md'
const text = readFileSync(join(ROOT, PATH), 'utf8')
const page = readPage(PATH, text)

function fence(language: string): string {
  const found = page.fences.find((one) => one.language === language)
  assert.ok(found, `${PATH} shows ${language}`)
  return found.text
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'writ-guide-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

describe('the guide on notifications', () => {
  it('shows a file of targets that a server takes', (t) => {
    const path = folder(t)
    mkdirSync(join(path, 'secrets'))
    const mode = 0o600
    writeFileSync(join(path, 'secrets/teams-url'), 'https://teams.example/hook', { mode })
    writeFileSync(join(path, 'secrets/smtp-password'), 'geheim', { mode })
    const env = { OPS_WEBHOOK_SECRET: SECRET, SLACK_WEBHOOK_URL: 'https://hooks.slack.example/x' }
    const options = { env, folder: path, profile: 'production', links: true } as const
    const { channels, problems } = readTargets(fence('yaml'), 'notify.yaml', options)
    assert.deepEqual(problems, [])
    assert.deepEqual(
      channels.map(({ name }) => name),
      ['ops', 'payments-channel', 'team', 'treasurers/alice', 'treasurers/bob'],
    )
  })

  it('shows a receiver that knows what a server has sent', async (t) => {
    const file = join(folder(t), 'receiver.ts')
    writeFileSync(file, fence('ts').replaceAll(/^console\.log.*$/gm, ''))
    const { isFromWrit } = (await import(pathToFileURL(file).href)) as {
      isFromWrit(secret: string, signature: string, body: string, now: number): boolean
    }
    const { received, url } = await startReceiver(t, () => ({ status: 200 }))
    const { live } = place(t)
    const life = await live([webhookChannel(url)])
    await life.tell(makeApproval(), 'approval.requested')
    const { headers, body } = await until(() => received[0])
    const signature = String(headers['writ-signature'])
    assert.equal(isFromWrit(SECRET, signature, body, Date.now()), true)
    assert.equal(isFromWrit(`${SECRET}x`, signature, body, Date.now()), false)
    assert.equal(isFromWrit(SECRET, signature, body.replace('500', '5'), Date.now()), false)
  })

  it('names every event', () => {
    const shown = new Set(page.code.map((one) => one.text))
    assert.deepEqual(
      APPROVAL_EVENTS.filter((event) => !shown.has(event)),
      [],
    )
  })
})
