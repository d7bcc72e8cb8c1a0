// What callers hold by now: roles, what these inherit, scopes, clearance, and roles that are not there (S41).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CallerIdentity, createCaller, createLocalAdmin } from '../../src/contract/caller.ts'
import { DOOR_PERMISSIONS } from '../../src/governance/door-permission.ts'
import { createHeld, hasPermission } from '../../src/governance/held.ts'
import { permit } from '../../src/governance/permit.ts'
import { decide, role, said, tool } from './support.ts'

const ROLES = [
  role('reader', { permissions: ['tool:look:invoke', 'capability:data.read'], clearance: 'public' }),
  role('payer', { permissions: ['tool:pay:invoke'], inherits: ['reader'] }),
  role('auditor', { permissions: ['audit:read', 'call:*'], clearance: 'restricted' }),
  role('ring', { permissions: ['x:y'], inherits: ['round'] }),
  role('round', { permissions: ['x:z'], inherits: ['ring'] }),
  role('broken', { inherits: ['gone'] }),
]
const held = createHeld(ROLES)
const of = (identity: Omit<CallerIdentity, 'actor'>) => held(createCaller({ actor: 'a', ...identity }))

test('A caller holds its own permissions, those of its roles and of what these inherit, each once', () => {
  assert.deepEqual(
    of({ roles: ['payer', 'reader'], permissions: ['tool:pay:invoke', 'own:one'] }).permissions,
    ['tool:pay:invoke', 'own:one', 'tool:look:invoke', 'capability:data.read'],
  )
  assert.deepEqual(of({}).permissions, [])
  assert.deepEqual(of({ roles: ['ring'] }).permissions, ['x:y', 'x:z'], 'a circle ends')
})

test('W17: a role that does not exist, or inherits from one that does not, denies whatever else is held', () => {
  assert.deepEqual(of({ roles: ['nobody', 'payer'] }).missingRoles, ['nobody'])
  assert.deepEqual(of({ roles: ['broken'] }).missingRoles, ['gone'])
  const caller = { actor: 'a', roles: ['nobody'], permissions: ['tool:pay:invoke'] }
  const decision = decide({ roles: ROLES }, { caller })
  assert.equal(decision.kind, 'deny')
  assert.deepEqual(said(decision), ['deny role-missing permissions role:nobody'])
  assert.match(decision.matches[0]?.reason ?? '', /a has the role nobody, which does not exist/)
})

test('Clearance is the highest of the own roles; without any it is internal; what is inherited gives none', () => {
  assert.equal(of({}).clearance, 'internal')
  assert.equal(of({ roles: ['reader'] }).clearance, 'public')
  assert.equal(of({ roles: ['reader', 'auditor'] }).clearance, 'restricted')
  assert.equal(
    createHeld([...ROLES, role('heir', { inherits: ['auditor'] })])(
      createCaller({ actor: 'a', roles: ['heir'] }),
    ).clearance,
    'internal',
  )
})

test('S41: a permission counts only where a scope covers it, too; no scopes at all narrow nothing, none narrow to nothing', () => {
  const roles = ['payer', 'auditor']
  const may = (wanted: string, scopes?: string[]) =>
    hasPermission(of({ roles, ...(scopes ? { scopes } : {}) }), wanted)
  assert.equal(may('call:read'), true)
  assert.equal(may('call:read', ['call:read']), true)
  assert.equal(may('call:settle', ['call:read']), false)
  assert.equal(may('tool:pay:invoke', ['tool:p*:invoke']), true)
  assert.equal(may('tool:refund:invoke', ['tool:*:invoke']), false, 'a scope grants nothing')
  assert.equal(may('audit:read', []), false)
})

test('S41: a wildcard that a scope cut down to one name is a wildcard all the same', () => {
  const danger = tool({ effect: { class: 'irreversible', identity: ['/id'] } })
  const wild = createCaller({ actor: 'a', permissions: ['tool:*:invoke'], scopes: ['tool:pay:invoke'] })
  assert.deepEqual(held(wild).permissions, ['tool:pay:invoke'])
  assert.equal(permit(wild, danger, held(wild)).kind, 'denied')
  const named = createCaller({ actor: 'a', permissions: ['tool:pay:invoke'], scopes: ['tool:*:invoke'] })
  assert.equal(permit(named, danger, held(named)).kind, 'permitted')
})

test('Capabilities are found in lower case, too, as roles write them; the name of a tool is only itself', () => {
  const caller = of({ permissions: ['capability:data.read', 'tool:pay:invoke'] })
  assert.equal(hasPermission(caller, 'capability:Data.Read'), true)
  assert.equal(hasPermission(caller, 'tool:Pay:invoke'), false)
})

test('The local admin holds everything, sees everything and needs no role', () => {
  const admin = held(createLocalAdmin())
  for (const wanted of [...DOOR_PERMISSIONS, 'tool:pay:invoke', 'class:any', 'made:up'])
    assert.equal(hasPermission(admin, wanted, false), true, wanted)
  assert.deepEqual([admin.clearance, admin.missingRoles], ['restricted', []])
})

test('What is held has another version when a role changes, and the same for the same caller', () => {
  const caller = createCaller({ actor: 'a', roles: ['payer'] })
  const changed = ROLES.map((one) => (one.name === 'reader' ? { ...one, version: '2-reader' } : one))
  const unrelated = ROLES.map((one) => (one.name === 'auditor' ? { ...one, version: '2-auditor' } : one))
  assert.equal(held(caller), held(caller))
  assert.equal(createHeld(unrelated)(caller).version, held(caller).version)
  assert.notEqual(createHeld(changed)(caller).version, held(caller).version)
})
