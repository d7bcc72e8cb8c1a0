// Secrets of every kind, used in every way that a server sees them: none is in its log, answers, evidence, metrics, files or arguments.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { SMTPServer } from 'smtp-server'
import { runWrit, startToolPeer, startUp, type UpServer } from '../cli/writ-process.ts'
import { AUDIENCE, startOidc } from '../identity/oidc-server.ts'
import { startReceiver } from '../notify/fixture.ts'
import { until } from '../pipeline/until.ts'
import { manifest } from './two-houses.ts'

const ADMIN = 'canary-admin-0123456789-0123456789-0123'
const HMAC = 'canary-hmac-0123456789-0123456789'
const MAIL = 'canary-mail-password'
/** Of a tool; kept in the store. */
const VALUE = 'canary-secret-of-a-tool'
/** Presented by somebody who has no valid one. */
const GUESS = 'canary.guess.0123456789'

async function startMail(t: TestContext) {
  const mails: string[] = []
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: ({ password }, _session, callback) =>
      password === MAIL ? callback(null, { user: 'writ' }) : callback(new Error('no')),
    onData(stream, _session, callback) {
      let raw = ''
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        raw += chunk
      })
      stream.on('end', () => {
        mails.push(raw)
        callback()
      })
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { mails, port: (server.server.address() as AddressInfo).port }
}

/** Every file below a folder, as bytes. */
function filesOf(folder: string): Map<string, Buffer> {
  const found = new Map<string, Buffer>()
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const path = join(folder, name)
    if (statSync(path).isFile()) found.set(relative(folder, path), readFileSync(path))
  }
  return found
}

const set = (endpoint: string) =>
  [
    manifest(
      'Tool',
      'pay',
      `{endpoint: '${endpoint}', effect: {class: external-communication}, approval_triggers: [{field: /amount, op: gt, value: 100}]}`,
    ),
    manifest('Tool', 'gone', "{endpoint: 'http://127.0.0.1:9/', effect: {class: external-communication}}"),
    manifest('Secret', 'kept', `{stringData: {value: ${VALUE}}}`),
    manifest('AgentRole', 'support', "{permissions: ['tool:pay:invoke', 'tool:gone:invoke']}"),
    manifest('AgentRole', 'treasurer', "{permissions: ['approval:decide']}"),
  ].join('---\n')

describe('secrets', () => {
  it('S40: of callers, links, receivers and mail are nowhere but where they are made for', async (t) => {
    const cwd = mkdtempSync(join(tmpdir(), 'writ-canary-'))
    t.after(() => rmSync(cwd, { recursive: true, force: true }))
    const peer = await startToolPeer()
    t.after(() => peer.close())
    const oidc = await startOidc()
    t.after(() => oidc.stop())
    const hook = await startReceiver(t, () => ({ status: 200 }))
    const mail = await startMail(t)
    writeFileSync(
      join(cwd, 'oidc.yaml'),
      `- issuer: ${oidc.issuer}\n  audience: ${AUDIENCE}\n  claims: {namespace: {value: default}, kind: {value: agent}, roles: groups}\n  role_map: {writ-support: support}\n`,
    )
    writeFileSync(
      join(cwd, 'notify.yaml'),
      `- {name: hook, type: webhook, url_env: HOOK_URL, secret_env: HOOK_SECRET, approvers: [{actor: alice, roles: [treasurer]}]}
- {name: mail, type: email, from: writ@example.com, smtp: {host: 127.0.0.1, port: ${mail.port}, secure: none, user: writ, password_env: MAIL_PASSWORD}, approvers: [{actor: bob, email: bob@example.com, roles: [treasurer]}]}
`,
    )
    const publicUrl = 'http://127.0.0.1:4177'
    const server = await startUp({
      cwd,
      env: {
        WRIT_ADMIN_TOKEN: ADMIN,
        WRIT_LOG_LEVEL: 'trace',
        HOOK_URL: hook.url,
        HOOK_SECRET: HMAC,
        MAIL_PASSWORD: MAIL,
      },
      args: ['--notify', 'notify.yaml', '--public-url', publicUrl, '--oidc', 'oidc.yaml'],
    })
    t.after(() => server.stop('SIGKILL'))
    const { answers, links, own, foreign } = await useAll(server, cwd, {
      peer: peer.url,
      oidc,
      hook,
      mail,
      publicUrl,
    })
    assert.equal(peer.seen.length, 2, 'one small payment, and one that was approved')

    const args = execFileSync('ps', ['-o', 'args=', '-p', String(server.child.pid)], { encoding: 'utf8' })
    const data = join(cwd, '.writ')
    const whileItRuns = filesOf(data)
    const { out, err } = await server.stop()
    assert.match(err, /"level":"?(debug|trace|20|10)/, 'the log is as wordy as it gets')
    const keys = readFileSync(join(data, 'link-key'), 'utf8').trim()
    const { keys: made = [] } = JSON.parse(readFileSync(join(data, 'token-keys.json'), 'utf8'))
    const secrets: Record<string, string> = {
      'the admin token': ADMIN,
      'a token of its own': own,
      'the signature of a token of its own': own.split('.')[2] ?? '',
      'a token of an OIDC issuer': foreign,
      'the signature of that': foreign.split('.')[2] ?? '',
      'a token that nobody issued': GUESS,
      'the secret of the receiver': HMAC,
      'the address of the receiver': 'in-the-address',
      'the password of the mail server': MAIL,
      'that password as it is sent': Buffer.from(`\0writ\0${MAIL}`).toString('base64'),
      'the key of links': keys,
      'the secret of a tool': VALUE,
      'that secret in base64': Buffer.from(VALUE).toString('base64').slice(0, -4),
      'the master key': readFileSync(join(data, 'master-key'), 'utf8').trim().split('\n')[0] ?? '',
      ...Object.fromEntries(links.map((link, at) => [`link ${at}`, link])),
      ...Object.fromEntries(privateParts(made).map((key, at) => [`private key ${at}`, key])),
    }
    assert.ok(links.length >= 2)
    assert.ok(privateParts(made).length > 0)
    const places = new Map<string, Buffer>([
      ['the log', Buffer.from(`${out}${err}`)],
      ['the arguments', Buffer.from(args)],
      ...answers.map((text, at): [string, Buffer] => [
        `answer ${at}: ${text.slice(0, 80)}`,
        Buffer.from(text),
      ]),
    ])
    for (const files of [whileItRuns, filesOf(data)])
      for (const [name, bytes] of files)
        if (!MADE_FOR.includes(name)) places.set(`${name} (${bytes.length})`, bytes)
    assert.ok([...places.keys()].some((place) => place.startsWith('writ.db')))
    const found = Object.entries(secrets).flatMap(([what, secret]) => {
      assert.ok(secret.length > 8, what)
      return [...places].filter(([, bytes]) => bytes.includes(secret)).map(([place]) => `${what} in ${place}`)
    })
    assert.deepEqual(found, [])
  })
})

/** What only its owner can read, and what holds the secret of a server by intent. */
const MADE_FOR = ['link-key', 'token-keys.json', 'admin-token', 'master-key']

function privateParts(
  keys: readonly { readonly d?: string; readonly private?: { readonly d?: string } }[],
): string[] {
  return keys.flatMap((key) => key.d ?? key.private?.d ?? [])
}

interface Around {
  readonly peer: string
  readonly oidc: Awaited<ReturnType<typeof startOidc>>
  readonly hook: Awaited<ReturnType<typeof startReceiver>>
  readonly mail: Awaited<ReturnType<typeof startMail>>
  readonly publicUrl: string
}

/** Everything that a secret is used for, rightly and wrongly. `answers` are all but the one that gives the token. */
async function useAll(server: UpServer, cwd: string, { peer, oidc, hook, mail, publicUrl }: Around) {
  const answers: string[] = []
  async function ask(
    method: string,
    path: string,
    token: string,
    body?: object | string,
    type = 'application/json',
  ) {
    const response = await fetch(server.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': type },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    answers.push([...response.headers].join('\n') + text)
    return { status: response.status, text }
  }
  let ids = 0
  const call = (token: string, tool: string, input: object, more: object = {}) =>
    ask('POST', '/v1/calls', token, { request_id: `canary-${++ids}`, tool: { name: tool }, input, ...more })

  const applied = await ask('POST', '/v1/apply', ADMIN, set(peer), 'application/yaml')
  assert.equal(applied.status, 200, applied.text)
  const created = await runWrit(['token', 'create', '--actor', 'agent-1', '--role', 'support'], {
    cwd,
    env: { WRIT_URL: server.url, WRIT_TOKEN: ADMIN },
  })
  assert.equal(created.code, 0, created.err)
  answers.push(created.err)
  const own = created.out.trim()
  const foreign = await oidc.token()
  assert.equal((await ask('GET', '/v1/whoami', foreign)).status, 200)
  assert.equal((await call(own, 'pay', { amount: 1 })).status, 200)
  assert.equal((await call(own, 'pay', { amount: 500 })).status, 202)
  // Each person has a link of their own, in the news and in the mail.
  const news = JSON.parse((await until(() => hook.received[0])).body)
  const hookLink = String(news.links[0].url).slice(publicUrl.length)
  const letter = (await until(() => mail.mails[0])).replaceAll('=\r\n', '').replaceAll('=3D', '=')
  const mailLink = /\/v1\/approval-links\/[\w.~-]+/.exec(letter)?.[0] ?? ''
  const links = [hookLink, mailLink].map((path) => path.slice('/v1/approval-links/'.length))
  // The page has a form that leads back to itself, so it is no answer to be searched.
  assert.equal((await fetch(server.url + mailLink)).status, 200)
  const form = () => ({ method: 'POST', body: new URLSearchParams({ decision: 'approve', comment: 'fine' }) })
  assert.equal((await fetch(server.url + hookLink, form())).status, 200)
  for (const path of [hookLink, mailLink, `${mailLink}x`]) {
    const over = await fetch(server.url + path, form())
    assert.ok(over.status >= 400)
    answers.push(await over.text())
  }
  await until(() => hook.received.some(({ body }) => body.includes('approval.used')))

  // Wrongly: in the query, the path, the body, a field, a header of another form; a token that is none; a call that fails.
  for (const token of [own, foreign]) await ask('GET', `/v1/calls?${token}=1`, ADMIN)
  for (const token of [own, foreign, ADMIN])
    assert.equal((await ask('DELETE', `/v1/tokens/${token}`, ADMIN)).status, 422)
  for (const token of [own, foreign, ADMIN, GUESS]) {
    await ask('GET', `/v1/calls?token=${token}`, ADMIN)
    await ask('GET', `/v1/calls/${token}`, ADMIN)
    await ask('POST', '/v1/calls', ADMIN, `{"token":"${token}`)
    await ask('POST', '/v1/calls', ADMIN, {
      request_id: 'x',
      tool: { name: 'pay' },
      input: {},
      auth: { token },
    })
    await ask('GET', '/v1/whoami', `${token}x`)
    await ask('GET', '/v1/whoami', `${token} ${token}`)
  }
  assert.equal((await ask('GET', '/v1/whoami', GUESS)).status, 401)
  await call(own, 'gone', {})
  await call(own, 'pay', { amount: 'much' })
  await ask('POST', '/v1/tokens/rotate', ADMIN)
  for (const spec of [
    `{stringData: ${VALUE}}`,
    `{data: {value: ${VALUE}}}`,
    `{stringData: {value: !${VALUE} x}}`,
  ])
    assert.equal(
      (await ask('POST', '/v1/apply', ADMIN, manifest('Secret', 'kept', spec), 'application/yaml')).status,
      422,
    )
  assert.equal((await ask('POST', '/v1/secrets/rotate-key', ADMIN)).status, 200)
  await ask('POST', '/v1/tokens/revoke', ADMIN, { actor: 'agent-1', reason: 'lost' })
  assert.equal((await call(own, 'pay', { amount: 1 })).status, 401)
  for (const path of ['audit/export', 'audit/head', 'calls', 'approvals', 'tools', 'secrets', 'freezes'])
    assert.equal((await ask('GET', `/v1/${path}`, ADMIN)).status, 200, path)
  assert.equal((await ask('GET', '/metrics', ADMIN)).status, 200)
  return { answers, links, own, foreign }
}
