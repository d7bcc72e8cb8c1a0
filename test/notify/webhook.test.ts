// News of approvals over real HTTP: signed, in order, at least once, over restarts and replicas.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { createApprovalLinks } from '../../src/notify/approval-link.ts'
import { retryAfterMs } from '../../src/notify/delivery.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { until } from '../pipeline/until.ts'
import { evidenceOf, makeApproval, place, SECRET, startReceiver, webhookChannel } from './fixture.ts'

const APPROVED = {
  state: 'approved',
  revision: 2,
  decisions: [{ by: 'alice', kind: 'person', roles: ['treasurer'], decision: 'approved', at: 2, via: 'api' }],
} as const

describe('a webhook', () => {
  it('gets the approval as it is shown, signed so that another implementation agrees', async (t) => {
    const { received, url } = await startReceiver(t, () => ({ status: 204 }))
    const { live } = place(t)
    const life = await live([webhookChannel(url)])
    await life.tell(makeApproval(), 'approval.requested')
    const one = await until(() => received[0])
    const body = JSON.parse(one.body)
    assert.equal(body.type, 'approval.requested')
    assert.equal(body.namespace, 'default')
    assert.equal(body.approval.state, 'pending')
    assert.deepEqual(body.approval.input, { to: 'bob', amount: 500 })
    assert.deepEqual(body.approval.reasons, ['the amount is above 100'])
    assert.equal(one.headers['writ-event-id'], body.id)
    assert.equal(one.headers['content-type'], 'application/json')
    const [, time, mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(one.headers['writ-signature'])) ?? []
    assert.ok(Math.abs(Number(time) * 1000 - Date.now()) < 60_000)
    const theirs = execFileSync('openssl', ['dgst', '-sha256', '-hmac', SECRET, '-r'], {
      input: `${time}.${one.body}`,
    })
    assert.equal(theirs.toString().split(' ')[0], mac)
    const [record] = await until(async () => {
      const found = await evidenceOf(life)
      return found.length > 0 && found
    })
    assert.equal(record?.type, 'notification.delivered')
    assert.equal(record?.body.event_id, body.id)
  })

  it('is told again with the same id and body until it takes it, and later news wait for that', async (t) => {
    const { received, url } = await startReceiver(t, (_one, at) => ({ status: at <= 2 ? 503 : 200 }))
    const { live, clock } = place(t)
    const life = await live([webhookChannel(url)])
    await life.tell(makeApproval(), 'approval.requested')
    await until(() => life.failures.length === 1)
    await life.tell({ ...makeApproval(), ...APPROVED }, 'approval.approved')
    // Time passes in the store: whatever waits is due.
    const pace = setInterval(() => {
      clock.skew += 60_000
    }, 10)
    t.after(() => clearInterval(pace))
    await until(() => received.length === 4)
    const bodies = received.map(({ body }) => JSON.parse(body))
    assert.deepEqual(
      bodies.map(({ type }) => type),
      ['approval.requested', 'approval.requested', 'approval.requested', 'approval.approved'],
    )
    assert.equal(new Set(received.slice(0, 3).map(({ body }) => body)).size, 1, 'as it was at the time')
    assert.equal(new Set(received.slice(0, 3).map(({ headers }) => headers['writ-event-id'])).size, 1)
    assert.deepEqual(bodies[0].approval.decisions, [], 'what came later is not in it')
    assert.equal(bodies[3].approval.decisions[0].decided_by, 'alice')
    assert.ok(life.failures.every(({ retry_in_ms: ms }) => ms !== null && ms >= 500))
  })

  it('that refuses is not told again, and that is put into evidence', async (t) => {
    const { received, url } = await startReceiver(t, (_one, at) => ({ status: at === 1 ? 400 : 200 }))
    const { live } = place(t)
    const life = await live([webhookChannel(url)])
    await life.tell(makeApproval(), 'approval.requested')
    const [record] = await until(async () => {
      const found = await evidenceOf(life)
      return found.length > 0 && found
    })
    assert.equal(record?.type, 'notification.failed')
    assert.deepEqual([record?.body.why, record?.body.tries], ['status 400', 1])
    assert.deepEqual(
      life.failures.map(({ why, retry_in_ms: ms }) => [why, ms]),
      [['status 400', null]],
    )
    await life.tell({ ...makeApproval(), ...APPROVED }, 'approval.approved')
    await until(() => received.length === 2)
  })

  it('that asks for time is given it', async (t) => {
    const headers = { 'retry-after': '120' }
    const { url } = await startReceiver(t, () => ({ status: 429, headers }))
    const { live } = place(t)
    const life = await live([webhookChannel(url)])
    await life.tell(makeApproval(), 'approval.requested')
    await until(() => life.failures.length === 1)
    assert.equal(life.failures[0]?.retry_in_ms, 120_000)
    assert.equal(retryAfterMs('Wed, 21 Oct 2015 07:28:00 GMT', Date.UTC(2015, 9, 21, 7, 27)), 60_000)
    assert.equal(retryAfterMs('soon', 0), undefined)
    assert.equal(retryAfterMs('999999999', 0), 3_600_000)
  })

  it('is given up after a day', async (t) => {
    const { url } = await startReceiver(t, () => ({ status: 500 }))
    const { live, clock } = place(t)
    const life = await live([webhookChannel(url)])
    await life.tell(makeApproval(), 'approval.requested')
    await until(() => life.failures.length === 1)
    clock.skew += 25 * 3_600_000
    const [record] = await until(async () => {
      const found = await evidenceOf(life)
      return found.length > 0 && found
    })
    assert.deepEqual([record?.type, record?.body.why], ['notification.failed', 'given up: status 500'])
    assert.equal(life.failures.at(-1)?.retry_in_ms, null)
  })

  it('hears after a restart what was not through before it', async (t) => {
    let status = 500
    const { received, url } = await startReceiver(t, () => ({ status }))
    const data = createMemoryData()
    const { live, clock } = place(t, data)
    const before = await live([webhookChannel(url)])
    await before.tell(makeApproval(), 'approval.requested')
    await until(() => before.failures.length === 1)
    await before.end()
    const sent = received.length
    status = 200
    clock.skew += 3_600_000
    const after = await live([webhookChannel(url)])
    await until(async () => (await evidenceOf(after)).length === 1)
    assert.equal(received.length, sent + 1)
    assert.equal(received.at(-1)?.body, received[0]?.body)
  })

  it('S35: of two replicas, one tells it', async (t) => {
    const { received, url } = await startReceiver(t, () => ({ status: 200 }))
    const data = createMemoryData()
    const { live } = place(t, data)
    const [one] = [await live([webhookChannel(url)]), await live([webhookChannel(url)])]
    const ids = Array.from(
      { length: 20 },
      (_, at) => `019a0000-0000-7000-8000-${String(at).padStart(12, '0')}`,
    )
    for (const id of ids) await one.tell(makeApproval({ id }), 'approval.requested')
    await until(async () => (await evidenceOf(one)).length === ids.length)
    assert.deepEqual(received.map(({ body }) => JSON.parse(body).approval.id).sort(), ids)
  })

  it('that a replica knows nothing of is left to one that does', async (t) => {
    const { received, url } = await startReceiver(t, () => ({ status: 200 }))
    const { live, clock } = place(t)
    const writer = await live([webhookChannel(url)], { handles: false })
    await writer.tell(makeApproval(), 'approval.requested')
    await writer.end()
    const stranger = await live([])
    clock.skew += 120_000
    await until(() => stranger.failures.length > 0)
    assert.match(stranger.failures[0]?.why ?? '', /no such target/)
    await stranger.end()
    clock.skew += 120_000
    await live([webhookChannel(url)])
    await until(() => received.length === 1)
  })

  it('hears of its namespaces and events alone', async (t) => {
    const { received, url } = await startReceiver(t, () => ({ status: 200 }))
    const { live } = place(t)
    const channel = webhookChannel(url, { namespaces: ['team-a'], events: ['approval.denied'] })
    const life = await live([channel])
    await life.tell(makeApproval({ namespace: 'team-b', callId: 'c-2' }), 'approval.requested')
    await life.tell(makeApproval({ namespace: 'team-a' }), 'approval.requested')
    await life.tell(makeApproval({ namespace: 'team-a', state: 'denied', revision: 2 }), 'approval.denied')
    await until(() => received.length > 0)
    assert.deepEqual(
      received.map(({ body }) => JSON.parse(body)).map(({ namespace, type }) => [namespace, type]),
      [['team-a', 'approval.denied']],
    )
  })

  it('gets a link for each approver while there is something to decide, the same in every try', async (t) => {
    const { received, url } = await startReceiver(t, (_one, at) => ({ status: at === 1 ? 500 : 200 }))
    const { live, clock } = place(t)
    const approvers = [
      { actor: 'alice', roles: ['treasurer'] },
      { actor: 'bob', roles: [] },
    ]
    const links = createApprovalLinks('k'.repeat(43), 'https://writ.example')
    const life = await live([webhookChannel(url, { approvers })], { links })
    await life.tell(makeApproval(), 'approval.requested')
    await until(() => life.failures.length === 1)
    clock.skew += 60_000
    await until(() => received.length === 2)
    await life.tell({ ...makeApproval(), ...APPROVED }, 'approval.approved')
    await until(() => received.length === 3)
    const [first, second, third] = received.map(({ body }) => JSON.parse(body).links)
    assert.deepEqual(first, second)
    assert.deepEqual(
      first.map(({ actor }: { actor: string }) => actor),
      ['alice', 'bob'],
    )
    assert.equal(third, undefined, 'it is decided')
  })

  it('keeps addresses and secrets out of events and evidence', async (t) => {
    const { url } = await startReceiver(t, (_one, at) => ({ status: at === 1 ? 500 : 403 }))
    const { live, clock } = place(t)
    const gone = webhookChannel('http://127.0.0.1:9/in-the-address', { name: 'gone' })
    const life = await live([webhookChannel(url), gone])
    await life.tell(makeApproval(), 'approval.requested')
    await until(() => life.failures.length >= 2)
    clock.skew += 60_000
    await until(async () => (await evidenceOf(life)).length === 1)
    const said = JSON.stringify([life.failures, await evidenceOf(life)])
    assert.match(said, /status 403/)
    assert.doesNotMatch(said, /in-the-address|a-secret-of/)
  })
})
