// writ token: create, inspect, revoke and rotate against a real server.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { partsOf } from '../identity/support.ts'
import { startServerCommands } from './server-commands.ts'

const { env, cwd, writ, close } = await startServerCommands()
after(close)

const ROLE = `apiVersion: writ.dev/v1
kind: AgentRole
metadata: {name: support}
spec: {permissions: ['tool:echo:invoke']}
`

before(async () => {
  writeFileSync(join(cwd, 'role.yaml'), ROLE)
  assert.equal((await writ('apply -f role.yaml')).code, 0)
})

describe('writ token create', () => {
  it('prints the token alone, and the rest to standard error', async () => {
    const { code, out, err } = await writ('token create --actor agent-7 --role support --ttl 1h')
    assert.equal(code, 0, err)
    assert.match(out, /^[\w-]+\.[\w-]+\.[\w-]+\n$/)
    const { payload } = partsOf(out)
    assert.deepEqual(
      [payload.sub, payload.kind, payload.roles, payload.namespace],
      ['agent-7', 'agent', ['support'], 'default'],
    )
    assert.equal(Math.round(Number(payload.exp) - Number(payload.iat)), 3600)
    assert.match(err, new RegExp(`token ${payload.jti} for agent-7, until `))
    assert.equal(err.includes(out.trim()), false)
  })

  it('takes every flag', async () => {
    const line =
      "token create --actor planner --kind service --role support --scope tool:echo:invoke --agent 'worker-*' --agent bob --system s --ttl 90s --audience other"
    const { payload } = partsOf((await writ(line)).out)
    assert.deepEqual(
      [payload.kind, payload.scopes, payload.agents, payload.system, payload.aud],
      ['service', ['tool:echo:invoke'], ['worker-*', 'bob'], 's', 'other'],
    )
    const blue = await writ('token create --actor a --namespace blue')
    assert.equal(partsOf(blue.out).payload.namespace, 'blue')
  })

  it('says what a scope looks like, and what may be meant', async () => {
    const { code, out, err } = await writ('token create --actor a --scope foo --scope aproval:read')
    assert.equal(code, 0, err)
    assert.match(out, /^[\w-]+\.[\w-]+\.[\w-]+\n$/)
    assert.match(err, /^writ: scope 'foo' .* A scope looks like tool:NAME:invoke, capability:NAME/m)
    assert.match(err, /^writ: scope 'aproval:read' .* Did you mean approval:read\?$/m)
    const refused = await writ('token create --actor a --scope tool:echo')
    assert.equal(refused.code, 3)
    assert.match(refused.err, /write it such as tool:weather:invoke/)
  })

  it('is used through WRIT_TOKEN', async () => {
    const { out } = await writ('token create --actor agent-7 --role support')
    const own = { env: { ...env, WRIT_TOKEN: out.trim() } }
    assert.equal((await writ('call echo', own)).code, 0)
    assert.equal((await writ('call post --set text=x', own)).code, 4)
    assert.equal((await writ('token create --actor other', own)).code, 4)
  })

  it('refuses what cannot be, and says why', async () => {
    assert.equal((await writ('token create')).code, 2)
    assert.equal((await writ('token create --actor a --kind robot')).code, 2)
    const role = await writ('token create --actor a --role nobody')
    assert.equal(role.code, 4)
    assert.match(role.err, /these roles do not exist: nobody/)
    assert.equal(role.out, '')
    assert.equal((await writ('token create --actor a --ttl 1s')).code, 3)
  })
})

describe('writ token inspect', () => {
  it('shows the claims and that it is valid here, and never the token', async () => {
    const token = (await writ('token create --actor agent-7 --role support')).out.trim()
    for (const [line, options] of [
      ['token inspect', { env: { ...env, WRIT_TOKEN: token } }],
      ['token inspect -', { input: `${token}\n` }],
    ] as const) {
      const { code, out, err } = await writ(line, options)
      assert.equal(code, 0, err)
      assert.match(out, /^Valid: +yes$/m)
      assert.match(out, /^Actor: +agent-7$/m)
      assert.match(out, /^Permissions: +tool:echo:invoke$/m)
      assert.equal(`${out}${err}`.includes(token.split('.')[2] ?? ''), false)
    }
  })

  it('says why one is not valid, with exit code 4', async () => {
    const token = (await writ('token create --actor gone')).out.trim()
    await writ("token revoke --actor gone --reason 'a test'")
    const { code, out } = await writ('token inspect - -o json', { input: token })
    assert.equal(code, 4)
    const shown = JSON.parse(out)
    assert.deepEqual([shown.valid, shown.reason, shown.claims.sub], [false, 'revoked', 'gone'])
    const nonsense = await writ('token inspect -', { input: 'nonsense' })
    assert.equal(nonsense.code, 4)
    assert.match(nonsense.out, /^Valid: +no: /m)
    assert.equal((await writ('token inspect -', { input: '' })).code, 2)
  })
})

describe('writ token revoke', () => {
  it('takes one back by its id', async () => {
    const token = (await writ('token create --actor agent-8')).out.trim()
    const id = String(partsOf(token).payload.jti)
    const { code, out } = await writ(`token revoke ${id} --reason 'lost laptop'`)
    assert.equal(code, 0)
    assert.equal(out, `token ${id} is revoked\n`)
    assert.equal((await writ('token inspect -', { input: token })).code, 4)
  })

  it('needs one of id and actor, and a reason', async () => {
    for (const line of [
      'token revoke --reason x',
      'token revoke some-id --actor a --reason x',
      'token revoke some-id',
    ]) {
      assert.equal((await writ(line)).code, 2, line)
    }
  })
})

describe('writ token rotate', () => {
  it('on the server: the next token is signed with the new key', async () => {
    const { code, out } = await writ('token rotate -o json')
    assert.equal(code, 0)
    const { header } = partsOf((await writ('token create --actor a')).out)
    assert.equal(header.kid, JSON.parse(out).key_id)
  })

  it('--file makes and changes a file without a server', async () => {
    const path = join(cwd, 'keys.json')
    const offline = { env: {} }
    assert.equal((await writ('token rotate --file keys.json', offline)).code, 0)
    assert.ok(existsSync(path))
    assert.equal(statSync(path).mode & 0o777, 0o600)
    const { code, out } = await writ('token rotate --file keys.json -o json', offline)
    assert.equal(code, 0)
    const { keys } = JSON.parse(readFileSync(path, 'utf8'))
    assert.equal(keys.length, 2)
    assert.equal(keys[0].kid, JSON.parse(out).key_id)
    assert.equal(out.includes(keys[0].d), false)
    writeFileSync(path, '{}')
    const broken = await writ('token rotate --file keys.json', offline)
    assert.equal(broken.code, 7)
    assert.match(broken.err, /Fix: /)
    assert.equal(readFileSync(path, 'utf8'), '{}', 'nothing is half done')
  })
})
