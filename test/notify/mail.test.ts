// News by mail, to a real SMTP server: TLS or nothing, one message per approver, and headers that nobody can add to.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { createApprovalLinks } from '../../src/notify/approval-link.ts'
import type { MailChannel, Smtp } from '../../src/notify/channel.ts'
import { until } from '../pipeline/until.ts'
import { evidenceOf, makeApproval, place } from './fixture.ts'

let folder: string
let key: Buffer
let cert: Buffer

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'writ-mail-'))
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '2',
      ...subject,
      ...files,
    ],
    { stdio: 'ignore' },
  )
  key = readFileSync(join(folder, 'key.pem'))
  cert = readFileSync(join(folder, 'cert.pem'))
})
after(() => rmSync(folder, { recursive: true }))

interface Mail {
  readonly from: string
  readonly to: readonly string[]
  readonly raw: string
  readonly secure: boolean
  readonly user: string | undefined
}

async function startMail(t: TestContext, options: SMTPServerOptions = {}) {
  const mails: Mail[] = []
  const server = new SMTPServer({
    key,
    cert,
    authOptional: true,
    disabledCommands: [],
    onAuth({ username, password }, _session, callback) {
      if (username === 'writ' && password === 'mail-geheim') callback(null, { user: username })
      else callback(new Error('no'))
    },
    onData(stream, session, callback) {
      let raw = ''
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        raw += chunk
      })
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        mails.push({
          from: mailFrom === false ? '' : (mailFrom?.address ?? ''),
          to: rcptTo.map(({ address }) => address),
          raw,
          secure: session.secure,
          user: session.user as string | undefined,
        })
        callback()
      })
    },
    ...options,
  })
  server.on('error', () => {
    // A client that goes away in the handshake, which is what some of the tests are about.
  })
  server.listen(0, 'localhost')
  await once(server.server, 'listening')
  t.after(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { mails, port: (server.server.address() as AddressInfo).port }
}

function channel(smtp: Smtp, over: Partial<MailChannel> = {}): MailChannel {
  return {
    type: 'email',
    name: 'mail',
    target: 'mail',
    smtp,
    from: 'writ@example.com',
    to: ['ops@example.com'],
    namespaces: ['*'],
    events: ['approval.requested'],
    approvers: [],
    ...over,
  }
}

const login = { user: 'writ', password: 'mail-geheim' }

/** The parts of a message, as a mail program would read them. */
function parts(raw: string) {
  const [head = '', ...rest] = raw.split('\r\n\r\n')
  const headers = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')
  const body = rest
    .join('\r\n\r\n')
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return { headers, names: headers.map((line) => line.split(':')[0]?.toLowerCase()), body }
}

describe('mail', () => {
  it('goes out over STARTTLS, with a login, as text and HTML', async (t) => {
    const { mails, port } = await startMail(t)
    const { live } = place(t)
    const life = await live([
      channel({ host: 'localhost', port, secure: 'starttls', login, ca: String(cert) }),
    ])
    await life.tell(makeApproval(), 'approval.requested')
    const mail = await until(() => mails[0])
    assert.deepEqual(
      [mail.secure, mail.user, mail.from, mail.to],
      [true, 'writ', 'writ@example.com', ['ops@example.com']],
    )
    const { headers, body } = parts(mail.raw)
    assert.ok(headers.includes('Subject: Approval needed: pay send'))
    assert.ok(headers.includes('Auto-Submitted: auto-generated'))
    assert.match(body, /text\/plain/)
    assert.match(body, /text\/html/)
    for (const said of [/the amount is above 100/, /treasurer/, /writ approve 019a0000/])
      assert.match(body, said)
    await until(async () => (await evidenceOf(life)).length === 1)
  })

  it('goes out over TLS from the first byte', async (t) => {
    const { mails, port } = await startMail(t, { secure: true })
    const { live } = place(t)
    const life = await live([channel({ host: 'localhost', port, secure: 'tls', login, ca: String(cert) })])
    await life.tell(makeApproval(), 'approval.requested')
    assert.equal((await until(() => mails[0])).secure, true)
  })

  it('does not go out in the clear, nor to somebody whose certificate is not trusted', async (t) => {
    const plain = await startMail(t, { disabledCommands: ['STARTTLS'] })
    const stranger = await startMail(t)
    const { live } = place(t)
    const life = await live([
      channel({ host: 'localhost', port: plain.port, secure: 'starttls', login }, { name: 'plain' }),
      channel({ host: 'localhost', port: stranger.port, secure: 'starttls', login }, { name: 'stranger' }),
    ])
    await life.tell(makeApproval(), 'approval.requested')
    await until(() => new Set(life.failures.map((one) => one.channel)).size === 2)
    assert.deepEqual([plain.mails, stranger.mails], [[], []])
    assert.ok(
      life.failures.every(({ retry_in_ms: ms }) => ms !== null),
      'an operator can mend that',
    )
    assert.doesNotMatch(JSON.stringify(life.failures), /geheim/)
  })

  it('gives each approver a link of their own, and the others none', async (t) => {
    const { mails, port } = await startMail(t)
    const { live } = place(t)
    const smtp = { host: 'localhost', port, secure: 'starttls', ca: String(cert) } as const
    const links = createApprovalLinks('k'.repeat(43), 'https://writ.example')
    const person = (actor: string) =>
      channel(smtp, {
        name: `mail/${actor}`,
        to: [`${actor}@example.com`],
        approvers: [{ actor, roles: [] }],
      })
    const life = await live([channel(smtp), person('alice'), person('bob')], { links })
    await life.tell(makeApproval(), 'approval.requested')
    await until(() => mails.length === 3)
    const linkOf = (to: string) => {
      const { raw } = mails.find((mail) => mail.to[0] === to) ?? { raw: '' }
      return /https:\/\/writ\.example\/v1\/approval-links\/([\w.-]+)/.exec(parts(raw).body)?.[1]
    }
    assert.equal(linkOf('ops@example.com'), undefined)
    for (const actor of ['alice', 'bob']) {
      const read = links.read(linkOf(`${actor}@example.com`) ?? '', Date.now())
      assert.equal(read.kind === 'link' && read.link.actor, actor)
    }
  })

  it('takes no header and no markup from what a model wrote', async (t) => {
    const { mails, port } = await startMail(t)
    const { live } = place(t)
    const life = await live([channel({ host: 'localhost', port, secure: 'starttls', ca: String(cert) })])
    const evil = 'x\r\nBcc: evil@example.com\r\n\r\n<a href="https://evil.example">Approve</a>\r\n.\r\nQUIT'
    const plain = makeApproval()
    await life.tell(
      makeApproval({
        requester: evil,
        agent: evil,
        reasons: [evil],
        shown: { inline: { text: evil, path: '/etc/passwd', href: 'http://127.0.0.1:1/' } },
        binding: { ...plain.binding, operation: evil },
      }),
      'approval.requested',
    )
    const { raw, to } = await until(() => mails[0])
    const { headers, names, body } = parts(raw)
    assert.deepEqual(to, ['ops@example.com'])
    assert.equal(names.includes('bcc'), false)
    assert.equal(headers.filter((line) => /^(to|subject|from):/i.test(line)).length, 3)
    const html = body.slice(body.indexOf('<!doctype'))
    assert.doesNotMatch(html, /<a href="https:\/\/evil/)
    assert.match(html, /&#60;a href=&#34;https:\/\/evil/)
  })

  it('is given up when the mail server refuses it for good, and tried again otherwise', async (t) => {
    const refused =
      (code: number) => (_address: unknown, _session: unknown, callback: (error: Error) => void) =>
        callback(Object.assign(new Error('no'), { responseCode: code }))
    const never = await startMail(t, { onRcptTo: refused(550) })
    const later = await startMail(t, { onRcptTo: refused(451) })
    const { live } = place(t)
    const smtp = (port: number) =>
      ({ host: 'localhost', port, secure: 'starttls', ca: String(cert) }) as const
    const life = await live([
      channel(smtp(never.port), { name: 'never' }),
      channel(smtp(later.port), { name: 'later' }),
    ])
    await life.tell(makeApproval(), 'approval.requested')
    await until(() => new Set(life.failures.map((one) => one.channel)).size === 2)
    const of = (name: string) => life.failures.find((one) => one.channel === name)
    assert.equal(of('never')?.retry_in_ms, null)
    assert.match(of('never')?.why ?? '', /550/)
    assert.notEqual(of('later')?.retry_in_ms, null)
    const records = await until(async () => {
      const found = await evidenceOf(life)
      return found.length > 0 && found
    })
    assert.deepEqual(
      records.map(({ type, body }) => [type, body.channel]),
      [['notification.failed', 'never']],
    )
  })
})
