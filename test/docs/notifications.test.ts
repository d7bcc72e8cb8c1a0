// What the guide on notifications shows works: its file of targets, and its receiver against a real server.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { APPROVAL_EVENTS } from '../../src/contract/approval-event.ts'
import { readTargets } from '../../src/notify/read-targets.ts'
import { makeApproval, place, SECRET, startReceiver, webhookChannel } from '../notify/fixture.ts'
import { until } from '../pipeline/until.ts'
import { folderFor, pageOf, shownIn } from './guide.ts'

const PATH = 'docs/guide/notifications.md'

describe('the guide on notifications', () => {
  it('shows a file of targets that a server takes', (t) => {
    const path = folderFor(t)
    mkdirSync(join(path, 'secrets'))
    const mode = 0o600
    writeFileSync(join(path, 'secrets/teams-url'), 'https://teams.example/hook', { mode })
    writeFileSync(join(path, 'secrets/smtp-password'), 'geheim', { mode })
    const env = { OPS_WEBHOOK_SECRET: SECRET, SLACK_WEBHOOK_URL: 'https://hooks.slack.example/x' }
    const options = { env, folder: path, profile: 'production', links: true } as const
    const { channels, problems } = readTargets(shownIn(PATH, 'yaml'), 'notify.yaml', options)
    assert.deepEqual(problems, [])
    assert.deepEqual(
      channels.map(({ name }) => name),
      ['ops', 'payments-channel', 'team', 'treasurers/alice', 'treasurers/bob'],
    )
  })

  it('shows a receiver that knows what a server has sent', async (t) => {
    const file = join(folderFor(t), 'receiver.ts')
    writeFileSync(file, shownIn(PATH, 'ts').replaceAll(/^console\.log.*$/gm, ''))
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
    const shown = new Set(pageOf(PATH).code.map((one) => one.text))
    assert.deepEqual(
      APPROVAL_EVENTS.filter((event) => !shown.has(event)),
      [],
    )
  })
})
