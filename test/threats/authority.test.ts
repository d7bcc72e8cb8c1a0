// Ways to get what one was not given: another's name, another's token, one's own approval, one's own role.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { until } from '../pipeline/until.ts'
import type { Reply } from '../server/harness.ts'
import { PAYER, type People, startPeople } from './people.ts'
import { manifest } from './two-houses.ts'

let h: People
before(async () => {
  h = await startPeople()
})
after(() => h.close())
beforeEach(() => {
  h.log.length = 0
})

const codeOf = (reply: { body: { error: { details: { code?: string } } } }) => reply.body.error.details.code
const actor = (name: string, roles: readonly string[], more = {}) => h.token({ actor: name, roles, ...more })
const person = { kind: 'person' }

describe('confused deputy', () => {
  it('a service that calls for an agent has the rights of its own token, and only for agents that it was given', async () => {
    const bare = await actor('planner', [], { kind: 'service', agents: ['worker-*'] })
    await actor('worker-1', ['payer'])
    const forWorker = { envelope: { agent: 'worker-1' }, token: bare }
    assert.equal((await h.call('transfer', { amount: 1 }, forWorker)).status, 403, 'not what the agent may')
    const able = await actor('planner', ['payer'], { kind: 'service', agents: ['worker-*'] })
    const other = await h.call('transfer', { amount: 1 }, { token: able, envelope: { agent: 'boss' } })
    assert.deepEqual([other.status, codeOf(other)], [403, 'actor-mismatch'])
    assert.deepEqual(h.log, [])
  })

  it('S29: nobody undoes, cancels, settles or commits a call of another caller, though it may call the tool', async () => {
    const alice = await actor('alice', ['payer'])
    const mallory = await actor('mallory', ['payer'])
    const done = await h.call('transfer', { amount: 1 }, { token: alice })
    const id = done.headers['writ-call-id']
    for (const [verb, body] of [
      ['compensate', undefined],
      ['cancel', undefined],
      ['rollback', undefined],
      ['commit', { commit_token: 'x' }],
      ['settle', { as: 'not-done', reason: 'mine now' }],
    ] as const) {
      const reply = await h.request('POST', `/v1/calls/${id}/${verb}`, {
        token: mallory,
        ...(body && { body }),
      })
      assert.equal(reply.status, 404, `${verb}: ${reply.text}`)
    }
    assert.deepEqual(h.log, ['transfer 1'])
  })

  it('S29: nobody joins the saga of another caller, to have it undone with the rest', async () => {
    const alice = await actor('alice', ['payer'])
    const mallory = await actor('mallory', ['payer'])
    assert.equal((await h.request('POST', '/v1/sagas', { token: alice, body: { id: 'trip' } })).status, 201)
    const joined = await h.call('transfer', { amount: 1 }, { token: mallory, envelope: { saga: 'trip' } })
    assert.notEqual(joined.status, 200)
    const unknown = await h.call('transfer', { amount: 1 }, { token: mallory, envelope: { saga: 'none' } })
    assert.equal(joined.status, unknown.status, 'as for one that is not there')
    assert.deepEqual(h.log, [])
  })
})

describe('self approval', () => {
  it('S45: not by the person who asked through an agent that it speaks for, nor by that agent', async () => {
    const anna = await actor('anna', ['payer', 'approver'], { ...person, agents: ['anna-bot'] })
    const { approval } = await h.ask(anna, { amount: 500 }, { agent: 'anna-bot' })
    const own = await h.decide(approval, 'approve', anna)
    assert.deepEqual([own.status, codeOf(own)], [403, 'approval-self'])
    const bot = await actor('anna-bot', ['approver'], person)
    assert.equal(
      codeOf(await h.decide(approval, 'approve', bot)),
      'approval-self',
      'whatever kind it says it is',
    )
    assert.deepEqual(h.log, [])
  })

  it('S45: not by delegation: nobody hands it to the requester, to the agent it spoke for, or on from there', async () => {
    const anna = await actor('anna', ['payer', 'approver'], { ...person, agents: ['anna-bot'] })
    const ben = await actor('ben', ['approver'], person)
    const carl = await actor('carl', [], person)
    const { approval } = await h.ask(anna, { amount: 501 }, { agent: 'anna-bot' })
    for (const to of ['anna', 'anna-bot'])
      assert.equal((await h.decide(approval, 'delegate', ben, { to })).status, 403, to)
    assert.equal((await h.decide(approval, 'delegate', anna, { to: 'carl' })).status, 403)
    assert.equal((await h.decide(approval, 'delegate', ben, { to: 'ben' })).status, 403)
    assert.equal((await h.decide(approval, 'delegate', ben, { to: 'carl' })).status, 200)
    assert.equal((await h.decide(approval, 'delegate', carl, { to: 'anna' })).status, 403)
    assert.equal((await h.decide(approval, 'approve', anna)).status, 403)
    assert.deepEqual(h.log, [])
  })

  it('S45: not under another name: whoever issues tokens makes none that could decide', async () => {
    const eve = await actor('eve', ['operator'], person)
    const { approval } = await h.ask(eve, { amount: 502 })
    for (const body of [
      { actor: 'puppet', kind: 'person', roles: ['approver'] },
      { actor: 'puppet', kind: 'service', roles: ['approver'] },
      { actor: 'puppet', kind: 'service', roles: ['approver'], scopes: ['approval:decide'] },
      { actor: 'puppet', kind: 'service', roles: ['operator'], scopes: ['grant:write'] },
    ]) {
      const reply = await h.request('POST', '/v1/tokens', { token: eve, body })
      assert.equal(reply.status, 403, JSON.stringify(body))
    }
    const puppet = await h.request('POST', '/v1/tokens', {
      token: eve,
      body: { actor: 'puppet', roles: ['approver'] },
    })
    assert.equal(puppet.status, 201, puppet.text)
    assert.equal(codeOf(await h.decide(approval, 'approve', puppet.body.token)), 'approver-agent')
    assert.deepEqual(h.log, [])
  })
})

describe('privilege escalation through apply', () => {
  it('whoever has governance:write gives itself nothing: its own roles, and what they inherit, are for others', async () => {
    const gov = await actor('gov', ['governor'], person)
    const more = "{permissions: ['governance:write', 'tool:*:invoke', 'approval:decide', 'token:write']}"
    const before = (await h.request('GET', '/v1/whoami', { token: gov })).body.permissions
    for (const name of ['governor', 'base']) {
      const text = manifest('AgentRole', name, more)
      const yaml = { 'content-type': 'application/yaml' }
      const put = await h.request('PUT', `/v1/agent-roles/${name}`, {
        token: gov,
        body: text,
        headers: { ...yaml, 'if-match': '*' },
      })
      const posted = await h.request('POST', '/v1/agent-roles', { token: gov, body: text, headers: yaml })
      for (const reply of [await h.apply(text, gov), await h.apply(`${PAYER}---\n${text}`, gov), put, posted])
        assert.deepEqual([reply.status, reply.body.error?.details.missing], [403, ['admin']], reply.text)
    }
    assert.deepEqual((await h.request('GET', '/v1/whoami', { token: gov })).body.permissions, before)
    assert.equal((await h.apply(manifest('AgentRole', 'for-others', more), gov)).status, 200)
  })

  it('whoever may change roles and issue tokens makes no puppet that it could fill afterwards', async () => {
    const both = manifest('AgentRole', 'both', "{permissions: ['governance:write', 'token:write']}")
    assert.equal((await h.apply(both)).status, 200)
    const eve = await actor('eve', ['both'], person)
    assert.equal((await h.apply(manifest('AgentRole', 'hollow', '{permissions: []}'), eve)).status, 200)
    const issue = (body: object) => h.request('POST', '/v1/tokens', { token: eve, body })
    const puppet = await issue({ actor: 'puppet', roles: ['hollow'] })
    assert.deepEqual([puppet.status, puppet.body.error?.details.missing], [403, ['admin']], puppet.text)
    assert.equal((await issue({ actor: 'puppet' })).status, 201, 'one without roles may nothing')
  })

  it('S44: whoever is frozen issues no tokens, so that it does not go on under another name', async () => {
    const eve = await actor('eve', ['operator'], person)
    const issue = () =>
      h.request('POST', '/v1/tokens', { token: eve, body: { actor: 'eve-2', roles: ['payer'] } })
    assert.equal((await issue()).status, 201)
    const freeze = { what: 'caller', name: 'eve', reason: 'test' }
    assert.ok((await h.request('POST', '/v1/freezes', { body: freeze })).status < 300)
    assert.equal((await issue()).status, 403)
    assert.ok((await h.request('DELETE', '/v1/freezes/caller/eve?reason=test')).status < 300)
    assert.equal((await issue()).status, 201)
  })

  it('resource:write changes no role, policy or permission, alone or hidden in a set', async () => {
    const eve = await actor('eve', ['operator'], person)
    const tool = manifest('Tool', 'harmless', "{endpoint: 'http://127.0.0.1:9/', operation_classes: [read]}")
    for (const [kind, name, spec, plural] of [
      ['AgentRole', 'mine', "{permissions: ['tool:*:invoke']}", 'agent-roles'],
      ['AgentPolicy', 'mine', '{target_agents: [eve], rules: [{decision: allow}]}', 'agent-policies'],
      ['ToolPermission', 'mine', '{tool_ref: transfer}', 'tool-permissions'],
    ] as const) {
      const text = manifest(kind, name, spec)
      for (const body of [text, `${tool}---\n${text}`])
        assert.equal((await h.apply(body, eve)).status, 403, kind)
      assert.equal((await h.request('GET', `/v1/${plural}/${name}`)).status, 404)
    }
    assert.equal((await h.request('GET', '/v1/tools/harmless')).status, 404, 'a set is refused whole')
    const approval = manifest('ToolApproval', 'mine', '{decision: approved}')
    assert.ok((await h.apply(approval, eve)).status >= 400, 'approvals are made by the runtime alone')
  })
})

describe('an approval', () => {
  it('W18: that was given for amount 500 is not used for 1,000,000, under its key or another', async () => {
    const bot = await actor('bot', ['payer'])
    const anna = await actor('anna', ['approver'], person)
    const envelope = { idempotency_key: 'w18' }
    const { approval } = await h.ask(bot, { amount: 500 }, envelope)
    const swapped = await h.call('transfer', { amount: 1_000_000 }, { token: bot, envelope })
    assert.equal(swapped.status, 409, swapped.text)
    assert.equal((await h.decide(approval, 'approve', anna)).status, 200)
    await until(() => h.log.length === 1)
    const after = await h.call('transfer', { amount: 1_000_000 }, { token: bot, envelope })
    assert.equal(after.status, 409, after.text)
    const fresh = await h.ask(bot, { amount: 1_000_000 }, { idempotency_key: 'w18-b' })
    assert.notEqual(fresh.approval, approval, 'people are asked anew')
    assert.deepEqual(h.log, ['transfer 500'])
  })

  it('S45: of many who approve and deny over HTTP at once, one is heard, and it is sent at most once', async () => {
    const bot = await actor('bot', ['payer'])
    const deciders = await Promise.all(
      Array.from({ length: 8 }, (_, at) => actor(`decider-${at}`, ['approver'], person)),
    )
    for (let round = 0; round < 5; round++) {
      h.log.length = 0
      const { approval, call } = await h.ask(bot, { amount: 600 + round })
      const replies = await Promise.all(
        deciders.map((token, at) =>
          at % 2 === 0
            ? h.decide(approval, 'approve', token)
            : h.decide(approval, 'deny', token, { reason: 'no' }),
        ),
      )
      assert.equal(replies.filter(({ status }) => status === 200).length, 1)
      assert.ok(replies.every(({ status }) => status === 200 || status === 409))
      const heard = replies.findIndex(({ status }) => status === 200)
      const state = await until(async () => {
        const { body } = await h.request('GET', `/v1/calls/${call}`)
        return ['succeeded', 'denied'].includes(body.state) && body.state
      })
      assert.equal(state, heard % 2 === 0 ? 'succeeded' : 'denied')
      assert.deepEqual(h.log, state === 'succeeded' ? [`transfer ${600 + round}`] : [])
    }
  })
})

describe('between decision and send', () => {
  const freeze = { what: 'tool', name: 'flaky', reason: 'test' }
  const revoke = { actor: 'bot', reason: 'test' }
  const policy = manifest('AgentPolicy', 'stop', '{apply_mode: global, blocked_tools: [flaky]}')
  const cases: readonly [string, () => Promise<Reply>, () => Promise<Reply>][] = [
    [
      'a role that is taken away',
      () => h.apply(manifest('AgentRole', 'payer', '{permissions: []}')),
      () => h.apply(PAYER),
    ],
    [
      'a policy that blocks the tool',
      () => h.apply(policy),
      () => h.request('DELETE', '/v1/agent-policies/stop'),
    ],
    [
      'a freeze',
      () => h.request('POST', '/v1/freezes', { body: freeze }),
      () => h.request('DELETE', '/v1/freezes/tool/flaky?reason=test'),
    ],
    [
      'a revocation of the token',
      () => h.request('POST', '/v1/tokens/revoke', { body: revoke }),
      () => h.request('GET', '/healthz'),
    ],
  ]

  it('a first attempt that did nothing is followed by a second one, as long as nothing changes', async () => {
    h.duringFirstAttempt(async () => undefined)
    const reply = await h.call('flaky', {}, { token: await actor('bot', ['payer']) })
    assert.deepEqual([reply.status, h.log], [200, ['attempt', 'attempt']], reply.text)
  })

  for (const [what, stop, undo] of cases) {
    it(`S36, S44: after ${what} while the first attempt runs there is no second one`, async () => {
      let stopped: Reply | undefined
      const token = await actor('bot', ['payer'])
      h.duringFirstAttempt(async () => {
        stopped = await stop()
      })
      const reply = await h.call('flaky', {}, { token })
      assert.ok(stopped !== undefined && stopped.status < 300, stopped?.text)
      assert.deepEqual(h.log, ['attempt'])
      assert.notEqual(reply.status, 200, reply.text)
      assert.ok((await undo()).status < 300)
    })
  }
})
