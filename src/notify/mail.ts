// News of an approval by mail, over SMTP. Recipients come from the file of targets alone, and no text of others is
// ever part of a header but the subject, which is one line.
import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'
import type { ApprovalNews } from '../contract/approval-event.ts'
import type { Egress } from '../egress/egress.ts'
import { EgressFailed } from '../egress/egress-failed.ts'
import type { World } from '../util/world.ts'
import type { MailChannel } from './channel.ts'
import { DELIVERY_TIMEOUT_MS, type Delivery } from './delivery.ts'
import type { Message } from './message.ts'
import { cutText, escapeHtml } from './visible.ts'

/** However slowly a mail server answers: it holds a message up for no longer. */
const TOTAL_MS = 60_000
const MOST_INPUT = 20_000

export async function sendMail(
  world: Pick<World, 'after'>,
  egress: Egress,
  channel: MailChannel,
  news: ApprovalNews,
  message: Message,
  link: string | undefined,
  hint: string,
): Promise<Delivery> {
  const { smtp, from, to, name } = channel
  const shown = { ...message, input: cut(message.input), asked: cut(message.asked) }
  const { host, port, secure, login, ca } = smtp
  // Loaded by the first mail: most servers send none.
  const { createTransport } = await import('nodemailer')
  let socket: Socket | undefined
  const timer = world.after(TOTAL_MS, () => socket?.destroy())
  const transport = createTransport({
    host,
    port,
    secure: secure === 'tls',
    requireTLS: secure === 'starttls',
    ignoreTLS: secure === 'none',
    tls: { servername: host, minVersion: 'TLSv1.2', ...(ca === undefined ? {} : { ca }) },
    ...(login === undefined ? {} : { auth: { user: login.user, pass: login.password } }),
    greetingTimeout: DELIVERY_TIMEOUT_MS,
    socketTimeout: DELIVERY_TIMEOUT_MS,
    // Neither a path nor an address in a message is ever opened.
    disableFileAccess: true,
    disableUrlAccess: true,
    getSocket(_options, callback) {
      const scheme = secure === 'tls' ? 'smtps' : 'smtp'
      egress.open({ host, port, scheme, timeoutMs: DELIVERY_TIMEOUT_MS }).then(
        (connection) => {
          socket = connection
          callback(null, { connection })
        },
        (error: unknown) => callback(error as Error, false),
      )
    },
  })
  try {
    const sent = await transport.sendMail({
      from,
      to: [...to],
      subject: message.title,
      date: new Date(news.at),
      // The same for every try: a mail program that has it shows it once.
      messageId: `<${messageIdOf(news.id, name)}@${domainOf(from)}>`,
      headers: { 'Auto-Submitted': 'auto-generated', 'Writ-Event-Id': news.id },
      text: textOf(shown, link, hint),
      html: htmlOf(shown, link, hint),
    })
    // Some may have been taken: sending to those again does less harm than leaving others out would.
    if (sent.rejected.length > 0) return { kind: 'later', why: 'the mail server refused some recipients' }
    return { kind: 'delivered', detail: 'taken by the mail server' }
  } catch (error) {
    return judge(error)
  } finally {
    timer.cancel()
    transport.close()
  }
}

function cut(text: string | undefined): string | undefined {
  return text === undefined ? undefined : cutText(text, MOST_INPUT)
}

/** A reply of 5xx to the message is for good; what an operator can mend meanwhile is not. */
function judge(error: unknown): Delivery {
  if (error instanceof EgressFailed) {
    return { kind: error.reason === 'refused' ? 'refused' : 'later', why: error.message }
  }
  const { code, responseCode } = (error ?? {}) as {
    readonly code?: unknown
    readonly responseCode?: unknown
  }
  const status = typeof responseCode === 'number' ? ` (${responseCode})` : ''
  const why = `the mail server: ${typeof code === 'string' ? code : 'failed'}${status}`
  const forGood =
    typeof responseCode === 'number' && responseCode >= 500 && (code === 'EENVELOPE' || code === 'EMESSAGE')
  return { kind: forGood ? 'refused' : 'later', why }
}

function textOf(message: Message, link: string | undefined, hint: string): string {
  return [
    message.title,
    '',
    ...message.facts.map(([label, value]) => `${label}: ${value}`),
    ...(message.reasons.length === 0 ? [] : ['', 'Why:', ...message.reasons.map((one) => `  - ${one}`)]),
    ...(message.input === undefined ? [] : ['', 'Input:', indent(message.input)]),
    ...(message.asked === undefined
      ? []
      : ['', 'Asked for, before policy narrowed it:', indent(message.asked)]),
    '',
    link === undefined ? hint : `Look and decide (for you alone, works once):\n${link}`,
    '',
  ].join('\n')
}

function indent(text: string): string {
  return text.replace(/^/gm, '    ')
}

function htmlOf(message: Message, link: string | undefined, hint: string): string {
  const facts = message.facts.map(
    ([label, value]) =>
      `<tr><th align="left" valign="top">${escapeHtml(label)}</th><td>${escapeHtml(value)}</td></tr>`,
  )
  const code = (label: string, text: string | undefined) =>
    text === undefined ? '' : `<h2>${escapeHtml(label)}</h2><pre>${escapeHtml(text)}</pre>`
  const reasons = message.reasons.map((reason) => `<li>${escapeHtml(reason)}</li>`).join('')
  const end =
    link === undefined
      ? `<p>${escapeHtml(hint)}</p>`
      : `<p><a href="${escapeHtml(link)}">Look and decide</a> (for you alone, works once)</p>`
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"></head><body>',
    `<h1>${escapeHtml(message.title)}</h1><table cellpadding="4">${facts.join('')}</table>`,
    reasons === '' ? '' : `<h2>Why</h2><ul>${reasons}</ul>`,
    code('Input', message.input),
    code('Asked for, before policy narrowed it', message.asked),
    `${end}</body></html>`,
  ].join('\n')
}

function messageIdOf(eventId: string, channel: string): string {
  return createHash('sha256').update(`${eventId}\n${channel}`).digest('hex').slice(0, 32)
}

/** Of an address that was checked when the file of targets was read. */
function domainOf(from: string): string {
  return /@([A-Za-z0-9.-]+)/.exec(from)?.[1] ?? 'localhost'
}
