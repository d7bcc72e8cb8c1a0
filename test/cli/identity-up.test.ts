// writ up as a real process: its keys, its issuers, and what lasts over a restart.
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { AUDIENCE, type OidcServer, startOidc } from '../identity/oidc-server.ts'
import { type RunOptions, runWrit, startUp, type UpServer } from './writ-process.ts'

const root = mkdtempSync(join(tmpdir(), 'writ-identity-'))
const running = new Set<UpServer>()
let oidc: OidcServer
before(async () => {
  oidc = await startOidc()
})
after(async () => {
  await oidc.stop()
  rmSync(root, { recursive: true })
})
afterEach(async () => {
  for (const server of running) {
    server.child.kill('SIGKILL')
    await server.ended
  }
  running.clear()
})

const folder = () => mkdtempSync(join(root, 'data-'))

async function up(options: RunOptions & { readonly args?: readonly string[] }): Promise<UpServer> {
  const server = await startUp(options)
  running.add(server)
  return server
}

async function whoami(server: UpServer, token: string) {
  const response = await fetch(`${server.url}/v1/whoami`, { headers: { authorization: `Bearer ${token}` } })
  // biome-ignore lint/suspicious/noExplicitAny: what a body holds is the question of each test
  return { status: response.status, body: (await response.json()) as any }
}

const writ = (cwd: string, ...args: string[]) => runWrit(args, { cwd })

describe('the token keys of a server', () => {
  it('are made by the first start for its owner alone; tokens and revocations last over a restart', async () => {
    const cwd = folder()
    const first = await up({ cwd })
    const keys = join(cwd, '.writ', 'token-keys.json')
    assert.equal(statSync(keys).mode & 0o777, 0o600)
    const kept = (await writ(cwd, 'token', 'create', '--actor', 'kept')).out.trim()
    const lost = (await writ(cwd, 'token', 'create', '--actor', 'lost')).out.trim()
    assert.equal((await writ(cwd, 'token', 'revoke', '--actor', 'lost', '--reason', 'test')).code, 0)
    assert.equal((await first.stop()).code, 0)
    const second = await up({ cwd })
    assert.equal((await whoami(second, kept)).body.actor, 'kept')
    const refused = await whoami(second, lost)
    assert.deepEqual([refused.status, refused.body.error.details.reason], [401, 'revoked'])
    const logged = `${first.written.out}${first.written.err}${second.written.out}${second.written.err}`
    for (const token of [kept, lost]) assert.equal(logged.includes(token), false)
  })

  it('end with a server that keeps nothing: what forgets revocations leaves no tokens behind', async () => {
    const cwd = folder()
    const env = { WRIT_STORE: 'memory' }
    const first = await up({ cwd, env })
    const token = (await writ(cwd, 'token', 'create', '--actor', 'a')).out.trim()
    assert.equal((await whoami(first, token)).status, 200)
    assert.equal(existsSync(join(cwd, '.writ', 'token-keys.json')), false)
    await first.stop()
    const second = await up({ cwd, env })
    assert.equal((await whoami(second, token)).body.error.details.reason, 'unknown-key')
  })

  it('of another file are used, and the start stops where they cannot be', async () => {
    const cwd = folder()
    const missing = await runWrit(['up', '--port', '0', '--token-keys', 'keys.json'], { cwd })
    assert.equal(missing.code, 1)
    assert.match(missing.err, /token keys .*keys\.json are not there/)
    assert.match(missing.err, /writ token rotate --file/)
    assert.equal((await writ(cwd, 'token', 'rotate', '--file', 'keys.json')).code, 0)
    chmodSync(join(cwd, 'keys.json'), 0o640)
    const open = await runWrit(['up', '--port', '0', '--token-keys', 'keys.json'], { cwd })
    assert.equal(open.code, 1)
    assert.match(open.err, /others can read/)
    chmodSync(join(cwd, 'keys.json'), 0o600)
    const server = await up({ cwd, args: ['--token-keys', 'keys.json', '--token-audience', 'prod'] })
    const token = (await writ(cwd, 'token', 'create', '--actor', 'a')).out.trim()
    assert.equal((await whoami(server, token)).status, 200)
    const other = await up({ cwd: folder(), args: ['--token-keys', join(cwd, 'keys.json')] })
    assert.equal((await whoami(other, token)).body.error.details.reason, 'other-audience')
  })

  it('S51: have to be given in profile production', async () => {
    const env = { WRIT_ADMIN_TOKEN: 'production-token-of-more-than-32-characters' }
    const refused = await runWrit(['up', '--port', '0', '--profile', 'production'], { cwd: folder(), env })
    assert.equal(refused.code, 2)
    assert.match(refused.err, /writ token rotate --file FILE/)
  })
})

describe('the issuers of a server', () => {
  it('are taken from a file: their tokens are callers, with the roles that the file gives them', async () => {
    const cwd = folder()
    writeFileSync(
      join(cwd, 'oidc.yaml'),
      `- issuer: ${oidc.issuer}
  audience: ${AUDIENCE}
  claims: {namespace: {value: default}, kind: {value: agent}, roles: groups}
  role_map: {writ-support: support}
`,
    )
    const server = await up({ cwd, args: ['--oidc', 'oidc.yaml'] })
    const token = await oidc.token()
    const { status, body } = await whoami(server, token)
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual(
      [body.actor, body.kind, body.roles, body.missing_roles],
      ['agent-7', 'agent', ['support'], ['support']],
    )
    const revoked = await writ(cwd, 'token', 'revoke', body.token_id, '--reason', 'test')
    assert.equal(revoked.code, 0, revoked.err)
    assert.equal((await whoami(server, token)).body.error.details.reason, 'revoked')
    assert.equal((await whoami(server, await oidc.token())).status, 200)
  })

  it('with a mistake stop the start, and every mistake is named with its line', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'oidc.yaml'), '- issuer: http://login.example.com\n  audiense: writ\n')
    const refused = await runWrit(['up', '--port', '0', '--oidc', 'oidc.yaml'], { cwd })
    assert.equal(refused.code, 1)
    assert.match(refused.err, /oidc\.yaml:1:11: error: \[0\]\.issuer: is no https address/)
    assert.match(refused.err, /oidc\.yaml:2:3: error: \[0\]\.audiense: .* did you mean audience\?/)
  })
})
