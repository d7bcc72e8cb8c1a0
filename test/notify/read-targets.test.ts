// The file of targets: what it may say, and that every mistake is named with its line and without its secrets.
import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import fc from 'fast-check'
import { type ReadTargetsOptions, readTargets } from '../../src/notify/read-targets.ts'
import { formatProblem } from '../../src/resource/problem.ts'

const SECRET = 'geheim-geheim-geheim-geheim'
const env = { HOOK_SECRET: SECRET, SLACK_URL: `https://hooks.slack.example/${SECRET}`, SHORT: 'geheim' }

function read(text: string, over: Partial<ReadTargetsOptions> = {}) {
  const options = { env, folder: tmpdir(), profile: 'local', links: true, ...over } as const
  const { channels, problems } = readTargets(text, 'notify.yaml', options)
  const said = problems.map(formatProblem)
  assert.doesNotMatch(said.join('\n'), /geheim/)
  return { channels, said }
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'writ-targets-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

const WEBHOOK = `- name: ops
  type: webhook
  url: https://example.com/hook
  secret_env: HOOK_SECRET
`

describe('the file of targets', () => {
  it('gives a channel for a webhook, with its secret from elsewhere', () => {
    const { channels, said } = read(WEBHOOK)
    assert.deepEqual(said, [])
    const [one] = channels
    assert.ok(one?.type === 'webhook')
    assert.equal(one.secret, SECRET)
    assert.deepEqual(one.namespaces, ['default'], 'another namespace has to be named')
    assert.equal(one.events.length, 9)
  })

  it('may be JSON as well', () => {
    const json = [{ name: 'chat', type: 'slack', url_env: 'SLACK_URL', namespaces: ['*'] }]
    const { channels, said } = read(JSON.stringify(json))
    assert.deepEqual(said, [])
    assert.deepEqual([channels[0]?.type, channels[0]?.namespaces], ['slack', ['*']])
    assert.equal(channels[0]?.events.includes('approval.voted'), false, 'people are not told of each step')
  })

  it('gives a channel for each approver of a mail target, and one for the others', (t) => {
    const path = folder(t)
    writeFileSync(join(path, 'password'), `${SECRET}\n`, { mode: 0o600 })
    const text = `- name: mail
  type: email
  from: writ@example.com
  to: [ops@example.com]
  smtp: {host: mail.example.com, user: writ, password_file: password}
  approvers:
    - {actor: alice, email: alice@example.com, roles: [treasurer]}
    - {actor: bob, email: bob@example.com}
`
    const { channels, said } = read(text, { folder: path })
    assert.deepEqual(said, [])
    assert.deepEqual(
      channels.map(
        (one) => one.type === 'email' && [one.name, one.to, one.approvers.map(({ actor }) => actor)],
      ),
      [
        ['mail', ['ops@example.com'], []],
        ['mail/alice', ['alice@example.com'], ['alice']],
        ['mail/bob', ['bob@example.com'], ['bob']],
      ],
    )
    const [one] = channels
    assert.ok(one?.type === 'email')
    assert.deepEqual(
      [one.smtp.port, one.smtp.secure, one.smtp.login],
      [587, 'starttls', { user: 'writ', password: SECRET }],
    )
  })

  const MISTAKES: readonly (readonly [what: string, text: string, said: RegExp])[] = [
    [
      'an unknown field',
      `${WEBHOOK}  sekret: x\n`,
      /^notify\.yaml:5:\d+: error: \[0\]\.sekret: is not a known field/,
    ],
    [
      'an unknown type',
      '- {name: a, type: slak}',
      /notify\.yaml:1:\d+: error: \[0\]\.type: .*did you mean "slack"/,
    ],
    ['an unknown event', `${WEBHOOK}  events: [approval.request]\n`, /events\[0\]: .*approval\.requested/],
    ['no list', 'name: a', /must be an array/],
    ['two documents', `${WEBHOOK}---\n${WEBHOOK}`, /more than one document/],
    ['nothing', '', /holds no document/],
    ['broken YAML', '- {name: a', /error/],
    ['a name twice', WEBHOOK + WEBHOOK, /notify\.yaml:5:9: error: \[1\]\.name: is taken/],
    [
      'a field of another type',
      `${WEBHOOK}  smtp: {host: x}\n`,
      /\[0\]\.smtp: is nothing that a target of type webhook has/,
    ],
    ['no address', '- {name: a, type: slack}', /\[0\]\.url: is missing.*url_env/],
    [
      'two addresses',
      '- {name: a, type: slack, url: "https://a.example", url_env: SLACK_URL}',
      /given 2 times/,
    ],
    ['no secret', '- {name: a, type: webhook, url: "https://a.example"}', /secret_env: is missing/],
    ['a short secret', `${WEBHOOK.replace('HOOK_SECRET', 'SHORT')}`, /fewer than 16 characters/],
    [
      'a variable that is not set',
      WEBHOOK.replace('HOOK_SECRET', 'NONE'),
      /the variable NONE, which is not set/,
    ],
    ['no http', WEBHOOK.replace('https', 'ftp'), /no http or https address/],
    ['credentials in the address', WEBHOOK.replace('https://', 'https://u:geheim@'), /without credentials/],
    [
      'two approvers of a chat',
      '- {name: a, type: slack, url_env: SLACK_URL, approvers: [{actor: a}, {actor: b}]}',
      /approvers\[1\]: .*in the name of all/,
    ],
    [
      'an approver without mail',
      '- {name: a, type: email, from: a@b.c, smtp: {host: x}, approvers: [{actor: a}]}',
      /no email/,
    ],
    ['mail to nobody', '- {name: a, type: email, from: a@b.c, smtp: {host: x}}', /\[0\]\.to: is missing/],
    ['mail from nobody', '- {name: a, type: email, to: [a@b.c], smtp: {host: x}}', /\[0\]\.from: is missing/],
    ['mail by nobody', '- {name: a, type: email, to: [a@b.c], from: a@b.c}', /\[0\]\.smtp: is missing/],
    [
      'mail in the clear',
      '- {name: a, type: email, to: [a@b.c], from: a@b.c, smtp: {host: x, secure: none}}',
      /only for the machine itself/,
    ],
    [
      'a user without a password',
      '- {name: a, type: email, to: [a@b.c], from: a@b.c, smtp: {host: x, user: u}}',
      /not both/,
    ],
    [
      'an address that adds a header',
      '- {name: a, type: email, to: ["a@b.c\\r\\nBcc: x@y.z"], from: a@b.c, smtp: {host: x}}',
      /\[0\]\.to\[0\]/,
    ],
    [
      'an address with a name',
      '- {name: a, type: email, to: ["Eve <a@b.c>"], from: a@b.c, smtp: {host: x}}',
      /\[0\]\.to\[0\]/,
    ],
  ]
  for (const [what, text, expected] of MISTAKES) {
    it(`refuses ${what}`, () => {
      const { channels, said } = read(text)
      assert.deepEqual(channels, [], 'nothing is taken in part')
      assert.match(said.join('\n'), expected)
    })
  }

  it('names all mistakes at once, in the order of the file', () => {
    const { said } = read('- {name: a, type: slack}\n- {name: b, type: webhook}\n')
    assert.deepEqual(
      said.map((line) => line.split(':')[1]),
      ['1', '2', '2'],
    )
  })

  it('refuses links without an address for them, and what is only fit for a laptop', () => {
    const text = `${WEBHOOK}  approvers: [{actor: a}]\n`
    assert.match(read(text, { links: false }).said.join(), /set public_url/)
    const plain = WEBHOOK.replace('https', 'http')
    const warned = read(plain)
    assert.match(warned.said.join(), /warning: .*without TLS/)
    assert.equal(warned.channels.length, 1)
    assert.match(read(plain, { profile: 'production' }).said.join(), /error: .*without TLS/)
    assert.deepEqual(read(plain.replace('example.com', '127.0.0.1:9'), { profile: 'production' }).said, [])
  })

  it('warns of an address of a chat in the file: it is a secret', () => {
    const { said, channels } = read('- {name: a, type: teams, url: "https://teams.example/geheim"}')
    assert.match(said.join(), /warning: \[0\]\.url: is a secret/)
    assert.equal(channels.length, 1)
  })

  it('refuses a file of a secret that others can read, that is empty or that is not there', (t) => {
    const path = folder(t)
    const file = join(path, 'secret')
    const text = WEBHOOK.replace('secret_env: HOOK_SECRET', 'secret_file: secret')
    assert.match(read(text, { folder: path }).said.join(), /cannot be read \(ENOENT\)/)
    writeFileSync(file, '', { mode: 0o600 })
    assert.match(read(text, { folder: path }).said.join(), /empty file/)
    writeFileSync(file, SECRET)
    chmodSync(file, 0o644)
    assert.match(read(text, { folder: path }).said.join(), /others can read or change.*chmod 600/)
    chmodSync(file, 0o600)
    assert.equal(read(text, { folder: path }).channels.length, 1)
    writeFileSync(file, `${SECRET}\n${SECRET}`)
    assert.match(read(text, { folder: path }).said.join(), /more than one line/)
  })

  it('never throws, whatever is in it', () => {
    const options = { env, folder: tmpdir(), profile: 'local', links: true } as const
    const any = fc.oneof(fc.string(), fc.json(), fc.uint8Array())
    fc.assert(
      fc.property(any, (text) => readTargets(text, 'x', options) !== undefined),
      { numRuns: 300 },
    )
  })
})
