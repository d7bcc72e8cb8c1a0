// The pages behind links: looking never decides, a link decides once, and nobody else's words become markup.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { Agent, request } from 'undici'
import type { Approval } from '../../src/contract/approval.ts'
import { createFailure } from '../../src/contract/projection.ts'
import { createApprovalLinks, LINK_PATH } from '../../src/notify/approval-link.ts'
import {
  type ApprovalDecider,
  createApprovalLinkDoor,
  type LinkChoice,
} from '../../src/notify/approval-link-door.ts'
import type { Channel } from '../../src/notify/channel.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { makeApproval, webhookChannel } from '../notify/fixture.ts'
import { newLife } from '../store/fixture.ts'
import { type Harness, startHarness } from './harness.ts'

const PUBLIC = 'https://writ.example'
const links = createApprovalLinks('k'.repeat(43), PUBLIC)
const ALICE = { actor: 'alice', roles: ['treasurer', 'auditor'] }
const channels: Channel[] = []
const choices: LinkChoice[] = []
let approval: Approval
let refuse = false
let away = false

/** Keeps one approval, compared and set as a store does it. */
const approvals: ApprovalDecider = {
  async find(namespace, id) {
    if (away) throw new StoreUnavailable('gone')
    return namespace === approval.namespace && id === approval.id ? approval : undefined
  },
  async decide(_namespace, _id, choice) {
    const { revision } = approval
    await new Promise((resolve) => setImmediate(resolve))
    if (refuse) return { kind: 'refused', failure: createFailure('permission-denied') }
    if (revision !== approval.revision || approval.state !== 'pending')
      return { kind: 'refused', failure: createFailure('approval-denied') }
    choices.push(choice)
    const { actor: by, roles } = choice.approver
    approval = {
      ...approval,
      state: choice.decision,
      revision: revision + 1,
      usedLinks: [...approval.usedLinks, choice.linkId],
      decisions: [{ by, kind: 'person', roles, decision: choice.decision, at: Date.now(), via: 'link' }],
    }
    return { kind: 'decided', approval }
  },
}

let h: Harness
const agent = new Agent()
before(async () => {
  const door = createApprovalLinkDoor({ world: newLife(), links, channels, approvals })
  h = await startHarness({ approvalLinks: { door, publicUrl: PUBLIC } })
})
after(async () => {
  await agent.destroy()
  await h.close()
})
beforeEach(() => {
  approval = makeApproval({ expiresAt: Date.now() + 60_000 })
  channels.splice(0, channels.length, webhookChannel('https://x.example', { approvers: [ALICE] }))
  choices.length = 0
  refuse = false
  away = false
})

function pathOf(over: Partial<Parameters<typeof links.make>[0]> = {}, about = 'news'): string {
  const { namespace, id: approvalId, expiresAt } = approval
  const url = links.make({ namespace, approvalId, target: 'ops', ...ALICE, expiresAt, ...over }, about)
  return LINK_PATH + url.slice(PUBLIC.length + LINK_PATH.length)
}

const look = (path: string) => h.request('GET', path, { token: null })
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

async function decide(path: string, body = 'decision=approve&comment=', headers = {}) {
  const response = await request(h.url + path, {
    dispatcher: agent,
    method: 'POST',
    headers: { ...FORM, ...headers },
    body,
  })
  return { status: response.statusCode, text: await response.body.text() }
}

describe('the page of a link', () => {
  it('S45: shows who decides about what, and decides nothing', async () => {
    const path = pathOf()
    for (let i = 0; i < 3; i++) {
      const page = await look(path)
      assert.equal(page.status, 200)
      for (const said of [
        /alice/,
        /pay/,
        /agent-7/,
        /the amount is above 100/,
        /&#34;amount&#34;: 500/,
        /Approve/,
      ])
        assert.match(page.text, said)
    }
    assert.equal((await h.request('HEAD', path, { token: null })).status, 200)
    assert.equal(approval.state, 'pending')
  })

  it('runs no script, loads nothing, is framed by nobody and is kept by nobody', async () => {
    const { headers, text } = await look(pathOf())
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    assert.match(String(headers['content-security-policy']), /^default-src 'none'; style-src 'sha256-/)
    assert.match(String(headers['content-security-policy']), /form-action 'self'; frame-ancestors 'none'/)
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(headers['referrer-policy'], 'same-origin')
    assert.doesNotMatch(text, /<script|<img|<link|https?:/)
    assert.match(text, /<html lang="en">/)
    assert.match(text, /<label for="comment">/)
  })

  it('shows what a model wrote as text', async () => {
    const evil = '</pre><script>alert(1)</script><form action="https://evil.example"><button>Approve</button>'
    approval = makeApproval({
      expiresAt: Date.now() + 60_000,
      requester: evil,
      reasons: [evil],
      shown: { inline: { [evil]: evil } },
    })
    const { text } = await look(pathOf())
    assert.doesNotMatch(text, /<script|action="https/)
    assert.equal(text.match(/<form/g)?.length, 1)
    assert.equal(text.match(/<button/g)?.length, 2)
  })
})

describe('deciding by a link', () => {
  it('S45: is done by the approver that it was made for, with the roles that still count', async () => {
    channels.splice(
      0,
      1,
      webhookChannel('https://x.example', { approvers: [{ actor: 'alice', roles: ['treasurer', 'new'] }] }),
    )
    const end = await decide(pathOf(), 'decision=approve&comment=fine%0D%0Aby+me')
    assert.equal(end.status, 200)
    assert.match(end.text, /You have approved it/)
    const [choice] = choices
    assert.equal(choice?.decision, 'approved')
    assert.equal(choice?.comment, 'fine\nby me')
    const { actor, roles, kind, admin, namespace, scopes } = choice?.approver ?? {}
    assert.deepEqual(
      { actor, roles, kind, admin, namespace, scopes },
      {
        actor: 'alice',
        roles: ['treasurer'],
        kind: 'person',
        admin: false,
        namespace: 'default',
        scopes: ['approval:read', 'approval:decide'],
      },
    )
  })

  it('S45: happens once: a link that was used says so, and what became of it', async () => {
    const path = pathOf()
    assert.equal((await decide(path, 'decision=deny&comment=no')).status, 200)
    for (const again of [await decide(path), await look(path)]) {
      assert.equal(again.status, 410)
      assert.match(again.text, /This link was used/)
      assert.match(again.text, /denied/)
    }
    assert.equal(choices.length, 1)
  })

  it('S45: of many clicks at once, one decides', async () => {
    const path = pathOf()
    const ends = await Promise.all(Array.from({ length: 8 }, () => decide(path)))
    assert.deepEqual(ends.map(({ status }) => status).sort(), [200, 410, 410, 410, 410, 410, 410, 410])
    assert.equal(choices.length, 1)
  })

  it('is refused for a link that is forged, too old, of another approval or of nobody here', async () => {
    const path = pathOf()
    const cases: readonly (readonly [path: string, status: number, says: RegExp])[] = [
      [`${path.slice(0, -1)}${path.endsWith('A') ? 'B' : 'A'}`, 404, /no link of this server/],
      [`${LINK_PATH}nonsense`, 404, /no link of this server/],
      [pathOf({ expiresAt: Date.now() - 1 }), 410, /time to decide is over/],
      [pathOf({ approvalId: '019a0000-0000-7000-8000-0000000000bb' }), 404, /no link of this server/],
      [pathOf({ namespace: 'other' }), 404, /no link of this server/],
      [pathOf({ actor: 'mallory' }), 403, /withdrawn/],
      [pathOf({ target: 'gone' }), 403, /withdrawn/],
    ]
    for (const [at, status, says] of cases) {
      for (const reply of [await look(at), await decide(at)]) {
        assert.equal(reply.status, status, at)
        assert.match(reply.text, says)
        assert.match(reply.text, /^<!doctype html>/)
      }
    }
    assert.equal(choices.length, 0)
  })

  it('is refused once its approver was taken out, or the approval has ended', async () => {
    const path = pathOf()
    channels.length = 0
    assert.equal((await decide(path)).status, 403)
    approval = { ...approval, state: 'canceled' }
    const end = await decide(path)
    assert.equal(end.status, 409)
    assert.match(end.text, /canceled/)
  })

  it('is refused where the approver may not decide, without using the link up', async () => {
    refuse = true
    const path = pathOf()
    const end = await decide(path)
    assert.equal(end.status, 403)
    assert.match(end.text, /does not count/)
    refuse = false
    assert.equal((await decide(path)).status, 200)
  })

  it('waits while the store is away, and says so on a page', async () => {
    away = true
    const path = pathOf()
    for (const reply of [await look(path), await decide(path)]) {
      assert.equal(reply.status, 503)
      assert.match(reply.text, /^<!doctype html>.*Nothing was decided/s)
    }
    away = false
    assert.equal((await decide(path)).status, 200)
  })

  it('is not done for a form of another site', async () => {
    const path = pathOf()
    const from = (headers: object) => decide(path, 'decision=approve', headers)
    assert.equal((await from({ origin: 'https://evil.example' })).status, 403)
    assert.equal((await from({ origin: 'null' })).status, 403)
    assert.equal((await from({ 'sec-fetch-site': 'cross-site' })).status, 403)
    assert.equal((await from({ 'sec-fetch-site': 'same-site', origin: PUBLIC })).status, 403)
    assert.equal(approval.state, 'pending')
    assert.equal((await from({ 'sec-fetch-site': 'same-origin', origin: PUBLIC })).status, 200)
  })

  it('is not done for what is no such form', async () => {
    const path = pathOf()
    for (const body of [
      '',
      'decision=maybe',
      'decision=approve&decision=deny',
      'decision=approve&as=bob',
      `decision=approve&comment=${'x'.repeat(1001)}`,
      `decision=approve&comment=${'x'.repeat(20_000)}`,
    ]) {
      const { status, text } = await decide(path, body)
      assert.equal(status, 400, body.slice(0, 40))
      assert.match(text, /could not be read/)
    }
    assert.equal(
      (await decide(path, '{"decision":"approve"}', { 'content-type': 'application/json' })).status,
      400,
    )
    assert.equal(approval.state, 'pending')
  })
})

describe('denying by a link', () => {
  it('needs a reason: without one the form comes back, and nothing is decided', async () => {
    const path = pathOf()
    const asked = await decide(path, 'decision=deny&comment=+')
    assert.equal(asked.status, 400)
    assert.match(asked.text, /role="alert".*say why/)
    assert.match(asked.text, /<form/)
    assert.equal(approval.state, 'pending')
    assert.equal((await decide(path, 'decision=deny&comment=too+much')).status, 200)
    assert.equal(choices[0]?.comment, 'too much')
  })
})

describe('a server without links', () => {
  it('knows none', async (t) => {
    const bare = await startHarness()
    t.after(() => bare.close())
    const page = await bare.request('GET', pathOf(), { token: null })
    assert.equal(page.status, 404)
    assert.match(page.text, /no link of this server/)
  })
})
