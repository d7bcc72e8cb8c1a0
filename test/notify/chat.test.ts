// Messages to Slack and Teams: what people have to know is there, and nothing that a model wrote is more than text.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Approval } from '../../src/contract/approval.ts'
import { messageOf } from '../../src/notify/message.ts'
import { slackBody } from '../../src/notify/slack.ts'
import { teamsBody } from '../../src/notify/teams.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/util/json.ts'
import { until } from '../pipeline/until.ts'
import { makeApproval, place, startReceiver } from './fixture.ts'

const LINK = 'https://writ.example/v1/approval-links/abc'
const HINT = 'Decide with: writ approve'

/** Every object in a message, however deep. */
function objects(value: Json): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap(objects)
  return isJsonObject(value) ? [value, ...Object.values(value).flatMap(objects)] : []
}

function message(over: Partial<Approval>) {
  const approval = makeApproval(over)
  return messageOf({ id: 'e', type: 'approval.requested', at: 0, approval })
}

/** What a hostile text must never become. */
const FORGED = [
  '<https://evil.example|Approve>',
  '<!channel>',
  '<@U123>',
  '[Approve](https://evil.example)',
  '{{DATE(2020-01-01T00:00:00Z)}}',
  '$' + '{evil}',
  '"},{"type":"actions","elements":[{"type":"button","url":"https://evil.example"}]},{"a":"',
  '</pre><a href="https://evil.example">Approve</a>',
  'line\nUntil: never\r\nApproved by: alice',
  '\u202eevorppA',
  '\u0000\u0007\u001b[31m',
]

function hostile(text: string): Partial<Approval> {
  return {
    requester: text,
    agent: text,
    taskId: text,
    reasons: [text],
    why: text,
    shown: { inline: { [text]: text, nested: [{ text }] } },
    asked: { inline: { text } },
    decisions: [
      { by: text, kind: 'person', roles: [], decision: 'approved', at: 1, via: 'api', comment: text },
    ],
  }
}

/** Who, what, why and until when. */
function assertSaysAll(body: unknown): void {
  const said = ['pay', 'send', 'high', 'agent-7', 'treasurer', 'the amount is above 100', '500', 'Until']
  for (const one of said) assert.match(JSON.stringify(body), new RegExp(one))
}

describe('a Slack message', () => {
  it('says who, what, why and until when, with the link', () => {
    const body = slackBody(message({}), LINK, HINT)
    assertSaysAll(body)
    const links = objects(body).filter(({ type }) => type === 'link')
    assert.deepEqual(
      links.map(({ url }) => url),
      [LINK],
    )
    assert.match(JSON.stringify(slackBody(message({}), undefined, HINT)), /writ approve/)
  })

  it('has no link, button, mention or markup of a model', () => {
    const forge = (text: string) => {
      const body = slackBody(message(hostile(text)), LINK, HINT)
      for (const one of objects(body)) {
        if ('url' in one) assert.equal(one.url, LINK)
        assert.ok(
          [
            'header',
            'rich_text',
            'rich_text_section',
            'rich_text_preformatted',
            'text',
            'link',
            'plain_text',
            undefined,
          ].includes(one.type as string | undefined),
        )
        if (one.type === 'plain_text') assert.equal(one.emoji, false)
      }
      assert.doesNotMatch(String(body.text), /[<>]/, 'the fallback is markup')
    }
    for (const text of FORGED) forge(text)
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 60 }), forge), { numRuns: 200 })
  })

  it('keeps within what Slack takes', () => {
    const body = slackBody(message(hostile('x'.repeat(100_000))), LINK, HINT)
    for (const one of objects(body)) {
      if (one.type === 'plain_text') assert.ok(String(one.text).length <= 150)
      if (one.type === 'text') assert.ok(String(one.text).length <= 3000)
    }
    assert.ok(JSON.stringify(body).length < 20_000)
  })
})

describe('a Teams message', () => {
  it('is a card that says the same, with one action', () => {
    const body = teamsBody(message({}), LINK, HINT)
    assertSaysAll(body)
    const actions = objects(body).filter(({ type }) => String(type).startsWith('Action.'))
    assert.deepEqual(
      actions.map(({ type, url }) => [type, url]),
      [['Action.OpenUrl', LINK]],
    )
  })

  it('has every word of others in runs, which read no Markdown, and no function that a card would run', () => {
    const forge = (text: string) => {
      const body = teamsBody(message(hostile(text)), LINK, HINT)
      for (const one of objects(body)) {
        if ('url' in one) assert.equal(one.url, LINK)
        assert.notEqual(one.type, 'TextBlock')
        if (one.type === 'TextRun') assert.doesNotMatch(String(one.text), /\{\{|\$\{|\n/)
      }
      assert.equal(objects(body).filter(({ type }) => String(type).startsWith('Action.')).length, 1)
    }
    for (const text of FORGED) forge(text)
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 60 }), forge), { numRuns: 200 })
  })
})

describe('what is shown of others', () => {
  it('shows marks that nobody sees by their number, in one line where it is one', () => {
    const { facts, input } = message(hostile('a\u202eb\u0007\nUntil: never'))
    const values = facts.map(([, value]) => value)
    assert.ok(values.includes('a\\u202eb\\u0007 Until: never (agent)'))
    assert.match(input ?? '', /a\\u202eb/)
    assert.ok(values.every((value) => !value.includes('\n')))
  })
})

describe('an input that is too long for a message', () => {
  const long = {
    inline: { a: 'x'.repeat(50_000), lines: Array.from({ length: 5000 }, (_, at) => at), to: 'evil' },
  }
  it('is cut, and says so: nobody takes a part for the whole', () => {
    const cut = message({ shown: long })
    for (const body of [slackBody(cut, LINK, HINT), teamsBody(cut, LINK, HINT)]) {
      assert.match(JSON.stringify(body), /… \d+ more characters are not shown here/)
      assert.ok(JSON.stringify(body).length < 28_000)
    }
    assert.match(cut.input ?? '', /"evil"/, 'the page of a link shows all of it')
  })
})

describe('chat channels', () => {
  it('post to their address', async (t) => {
    const { received, url } = await startReceiver(t, () => ({ status: 200 }))
    const { live } = place(t)
    const base = { url, namespaces: ['*'], events: ['approval.requested'], approvers: [] } as const
    const life = await live([
      { ...base, type: 'slack', name: 'slack', target: 'slack' },
      { ...base, type: 'teams', name: 'teams', target: 'teams' },
    ])
    await life.tell(makeApproval(), 'approval.requested')
    await until(() => received.length === 2)
    const bodies = received.map(({ body }) => JSON.parse(body))
    assert.equal(bodies.filter(({ blocks }) => Array.isArray(blocks)).length, 1)
    assert.equal(bodies.filter(({ attachments }) => Array.isArray(attachments)).length, 1)
    assert.match(JSON.stringify(bodies), /writ approve 019a0000/)
  })
})
