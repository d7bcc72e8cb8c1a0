// No token holds more than the one who issues it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type Caller,
  type CallerIdentity,
  createCaller,
  createLocalAdmin,
} from '../../src/contract/caller.ts'
import { createHeld } from '../../src/governance/held.ts'
import type { TokenIdentity } from '../../src/identity/own-token.ts'
import { beyondIssuer } from '../../src/identity/token-limit.ts'
import type { ResolvedRole } from '../../src/resource/resolved-governance.ts'

function role(name: string, permissions: string[], more: Partial<ResolvedRole> = {}): ResolvedRole {
  const base = {
    namespace: 'default',
    version: '1',
    description: '',
    inherits: [],
    clearance: 'internal' as const,
  }
  return { ...base, name, permissions, ...more }
}

const held = createHeld([
  role('reader', ['tool:weather:invoke']),
  role('issuer', ['token:write', 'tool:weather:invoke', 'tool:mail-*:invoke']),
  role('mail', ['tool:mail-send:invoke']),
  role('wide', ['tool:*:invoke']),
  role('secret', ['tool:weather:invoke'], { clearance: 'restricted' }),
  role('nested', [], { inherits: ['wide'] }),
  role('broken', [], { inherits: ['gone'] }),
])

const issuer = (over: Partial<CallerIdentity> = {}): Caller =>
  createCaller({ actor: 'ops', kind: 'person', roles: ['issuer'], ...over })

const asked = (over: Partial<TokenIdentity> = {}): TokenIdentity => ({
  actor: 'agent-7',
  namespace: 'default',
  kind: 'agent',
  roles: ['reader'],
  ...over,
})

const missing = (by: Caller, what: Partial<TokenIdentity>) => beyondIssuer(by, asked(what), held)?.missing

describe('issuing', () => {
  it('gives roles whose every permission the issuer has, by the letter', () => {
    assert.equal(missing(issuer(), {}), undefined)
    assert.equal(missing(issuer(), { roles: [] }), undefined)
    assert.equal(missing(issuer(), { roles: ['issuer'] }), undefined)
    assert.deepEqual(missing(issuer(), { roles: ['reader', 'wide'] }), ['role:wide'])
    assert.deepEqual(missing(issuer(), { roles: ['nested'] }), ['role:nested'])
    // S41: a wildcard of the issuer does not cover everything that is named under it.
    assert.deepEqual(missing(issuer(), { roles: ['mail'] }), ['role:mail'])
  })

  it('gives no more clearance', () => {
    assert.deepEqual(missing(issuer(), { roles: ['secret'] }), ['role:secret'])
  })

  it('refuses roles that do not exist, of the admin too', () => {
    for (const by of [issuer(), createLocalAdmin()]) {
      assert.deepEqual(missing(by, { roles: ['reader', 'nobody'] }), ['role:nobody'])
      assert.deepEqual(missing(by, { roles: ['broken'] }), ['role:gone'])
    }
  })

  it('for people is for the admin: who can make an approver can approve its own calls', () => {
    assert.deepEqual(missing(issuer(), { kind: 'person' }), ['admin'])
    assert.equal(missing(createLocalAdmin(), { kind: 'person', roles: ['wide'] }), undefined)
  })

  it('for services is for the admin, too, unless scopes keep them from deciding', () => {
    const service = (scopes?: string[]) => missing(issuer(), { kind: 'service', ...(scopes && { scopes }) })
    assert.equal(service(['tool:weather:invoke']), undefined)
    assert.equal(service([]), undefined)
    for (const scopes of [undefined, ['approval:decide'], ['approval:*'], ['grant:write']])
      assert.deepEqual(service(scopes), ['admin'], String(scopes))
    assert.equal(missing(createLocalAdmin(), { kind: 'service' }), undefined)
  })

  it('is not for agents', () => {
    assert.deepEqual(missing(issuer({ kind: 'agent' }), {}), ['admin'])
  })

  it('stays in the scopes of the issuer', () => {
    const narrow = issuer({ scopes: ['token:write', 'tool:weather:invoke'] })
    assert.equal(missing(narrow, { scopes: ['tool:weather:invoke'] }), undefined)
    assert.deepEqual(missing(narrow, { scopes: ['tool:*:invoke'] }), ['scope:tool:*:invoke'])
    assert.deepEqual(missing(narrow, { roles: ['issuer'] }), ['role:issuer'])
  })

  it('lets a token speak only for agents that the issuer speaks for', () => {
    const planner = issuer({ agents: ['worker-*', 'bob'] })
    for (const agents of [['worker-1'], ['worker-*'], ['worker-a*'], ['bob'], ['ops']]) {
      assert.equal(missing(planner, { agents }), undefined, agents[0])
    }
    for (const agents of [['*'], ['work*'], ['bob*'], ['alice']]) {
      assert.deepEqual(missing(planner, { agents }), [`agent:${agents[0]}`])
    }
  })
})
