// Every route of the server, asked for things of another namespace, without a token, without a permission and by an agent.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { defineTool } from '../../src/index.ts'
import { readTable, THREATS_PAGE } from '../docs/threats-page.ts'
import type { Reply } from '../server/harness.ts'
import { ASKS } from './route-asks.ts'
import { NOBODYS, startTwoHouses, type Things, type TwoHouses } from './two-houses.ts'

/** Of the whole machine: from elsewhere it is for the admin alone, as health.test.ts shows. */
const METRICS = 'GET /metrics'

let h: TwoHouses
before(async () => {
  h = await startTwoHouses()
})
after(() => h.close())

async function routes(): Promise<readonly string[]> {
  const { paths } = (await h.request('GET', '/openapi.json', { token: null })).body
  return Object.entries(paths as Record<string, object>).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  )
}

function ask(route: string, things: Things, token: string | null, house = h): Promise<Reply> {
  const [method = ''] = route.split(' ')
  const about = ASKS.get(route)
  assert.ok(about, `${route} has no request in route-asks.ts: add one about something of another namespace`)
  const { path, ...options } = about(things)
  return house.request(method, path, { ...options, token })
}

/** Without what differs between any two requests, and with one word for each thing that was asked for. */
function answerOf({ status, text }: Reply, things: Things): string {
  let said = text
  for (const [what, name] of Object.entries(things)) said = said.replaceAll(name, `<${what}>`)
  said = said
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
    .replaceAll(/[0-9a-f]{64}/g, '<digest>')
    .replaceAll(/"(trace_id|span_id)":"[0-9a-f]+"/g, '"$1":"<trace>"')
    .replaceAll(/"(duration_ms|resourceVersion)":\d+/g, '"$1":0')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(/walk-\d+/g, '<request>')
    .replaceAll(/"token":"[^"]+"/g, '"token":"<token>"')
  return `${status} ${said}`
}

describe('every route', () => {
  it('is walked: a new one needs a request, and a row in the table of the reference page', async () => {
    const known = (await routes()).toSorted()
    assert.deepEqual([...ASKS.keys()].toSorted(), known)
    assert.deepEqual(
      readTable('routes')
        .map(([route = '']) => route.replaceAll('`', ''))
        .toSorted(),
      known,
    )
  })

  it('S41: says of things of another namespace what it says of things that nobody has, and changes nothing', async () => {
    const before = await h.blue()
    for (const route of ASKS.keys()) {
      if (route === METRICS) continue
      const theirs = await ask(route, h.things, h.tokens.red)
      const nobodys = await ask(route, NOBODYS, h.tokens.red)
      assert.equal(answerOf(theirs, h.things), answerOf(nobodys, NOBODYS), route)
      assert.ok(theirs.status < 500, `${route}: ${theirs.text}`)
    }
    assert.equal(await h.blue(), before)
    const agent = await h.request('GET', '/v1/whoami', { token: h.tokens.agent })
    assert.equal(agent.status, 200, 'a revocation in red is about tokens of red')
  })

  it('S41: shows nothing of another namespace to whoever may do everything in its own', async () => {
    const { red } = h.tokens
    for (const route of ASKS.keys()) {
      if (!route.startsWith('GET ') || route === METRICS) continue
      const { text } = await ask(route, NOBODYS, red)
      // Names that red has given its own things in the walk are no leak; ids, inputs and outputs of blue are.
      for (const theirs of ['indigo-input', 'indigo-output', 'indigo-reason', 'indigo-pay', h.things.call])
        assert.equal(text.includes(theirs), false, `${route} shows ${theirs}`)
    }
  })

  it('S13: a key is of one namespace: the same actor, tool, key and input elsewhere are another call', async (t) => {
    const house = await startTwoHouses()
    t.after(() => house.close())
    const { actor, tool } = house.things
    house.runtime.define(
      defineTool({
        namespace: 'red',
        name: tool,
        version: '1.0.0',
        effect: { class: 'external-communication', determinism: 'side_effectful' },
        handler: () => ({ of: 'red' }),
      }),
    )
    const body = { actor, roles: ['everything'] }
    const issued = await house.request('POST', '/v1/tokens?namespace=red', { body })
    assert.equal(issued.status, 201, issued.text)
    const outputs: unknown[] = []
    for (const token of [house.tokens.agent, issued.body.token, house.tokens.agent]) {
      const reply = await house.call(tool, { a: 1 }, { token, envelope: { idempotency_key: 'one-key' } })
      outputs.push([reply.body.output, reply.body.replayed])
    }
    const blue = { secret: 'indigo-output' }
    assert.deepEqual(outputs, [
      [blue, false],
      [{ of: 'red' }, false],
      [blue, true],
    ])
  })

  it('S41: answers as the reference page says: no token, no permission, an agent, everything but elsewhere', async () => {
    const found = new Map([...ASKS.keys()].map((route) => [route, [`\`${route}\``]]))
    for (const who of [null, 'bare', 'agent', 'red'] as const) {
      // What one of them ends must not be why another is refused.
      const house = await startTwoHouses()
      try {
        const token = who === null ? null : house.tokens[who]
        for (const route of ASKS.keys())
          found.get(route)?.push(String((await ask(route, house.things, token, house)).status))
      } finally {
        await house.close()
      }
    }
    const sorted = (rows: Iterable<readonly string[]>) =>
      [...rows].map((row) => `| ${row.join(' | ')} |`).toSorted()
    assert.deepEqual(sorted(found.values()), sorted(readTable('routes')), THREATS_PAGE)
  })
})
