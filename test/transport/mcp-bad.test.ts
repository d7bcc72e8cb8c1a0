// MCP servers that crash, flood, lie or never answer: each its row, bounded, and nothing else harmed.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ResolvedMcpServer } from '../../src/resource/resolved-mcp-server.ts'
import { McpFailed } from '../../src/transport/mcp/session.ts'
import { createMcpSessions } from '../../src/transport/mcp/sessions.ts'
import { createMcpTransport } from '../../src/transport/mcp.ts'
import { Abort } from '../../src/util/abort.ts'
import type { Json } from '../../src/util/json.ts'
import { handshake, type Message } from '../fixtures/mcp-peer/answer.ts'
import {
  createNotes,
  isAlive,
  makeServer,
  makeWorld,
  mcpTool,
  type PeerNotes,
  peerProgram,
} from './mcp-harness.ts'
import { makeSend, makeSink } from './send-fixture.ts'
import { listenHttp, sendJson } from './tool-peer.ts'
import { refusal, success } from './transport-contract.ts'

interface House {
  readonly notes: PeerNotes
  readonly server: ResolvedMcpServer
  call(
    tool: string,
    input?: Json,
    abort?: Abort,
  ): Promise<{ reply: import('../../src/transport/transport.ts').Reply; sent: number; facts: object[] }>
  readonly sessions: ReturnType<typeof createMcpSessions>
}

/** A peer with that fault, and a transport to it; afterwards no process of it is left. */
async function within(
  env: Readonly<Record<string, string>>,
  run: (house: House) => Promise<void>,
  overrides: Partial<ResolvedMcpServer> = {},
): Promise<void> {
  const world = makeWorld()
  const notes = createNotes()
  const server = makeServer(peerProgram(notes, env), overrides)
  const sessions = createMcpSessions({ world })
  const transport = createMcpTransport({ world, mcpSessions: sessions, mcpServer: () => server })
  try {
    await run({
      notes,
      server,
      sessions,
      async call(tool, input = {}, abort = new Abort()) {
        const sink = makeSink()
        const reply = await transport.attempt(makeSend(mcpTool(tool), input, { abort }), sink)
        return { reply, sent: sink.sent, facts: sink.facts }
      },
    })
  } finally {
    await transport.close()
    await sessions.close()
    await world.network.destroy()
    const { starts } = notes
    notes.close()
    assert.deepEqual(
      starts.filter((pid) => isAlive(pid)),
      [],
      'a program was left',
    )
  }
}

describe('a program that is no good MCP server', () => {
  for (const fault of ['crash-at-start', 'crash-in-handshake'])
    it(`${fault}: nothing was sent, and it was tried as often as declared`, () =>
      within(
        { PEER_BAD: fault },
        async ({ call, notes }) => {
          const { reply, sent } = await call('echo')
          assert.equal(refusal(reply).failure, 'connect-failed')
          assert.equal(refusal(reply).definite, true)
          assert.match(refusal(reply).message ?? '', /MCP server peer .*nothing was sent/)
          assert.equal(sent, 0)
          // Once more than declared: it might have been an older one that ends at the question for its revisions.
          assert.equal(notes.starts.length, 3)
        },
        { reconnect: { maxAttempts: 2, backoffMs: 1 } },
      ))

  it('one that ends at the question for its revisions is taken for an older one', () =>
    within({ PEER_BAD: 'crash-at-probe' }, async ({ call, notes }) => {
      assert.deepEqual(success((await call('echo', { a: 1 })).reply).output, { a: 1 })
      assert.equal(notes.starts.length, 2)
    }))

  it('one that never answers the handshake ends with the deadline of the call, and is definite', () =>
    within({ PEER_BAD: 'silent' }, async ({ call, notes }) => {
      const abort = new Abort()
      const pending = call('echo', {}, abort)
      await notes.until(() => notes.starts.length > 0)
      abort.abort('timeout')
      const { reply, sent } = await pending
      assert.equal(refusal(reply).failure, 'timeout-before-send')
      assert.equal(refusal(reply).definite, true)
      assert.equal(sent, 0)
    }))

  it('noise on standard output is survived', () =>
    within({ PEER_BAD: 'noise' }, async ({ call }) => {
      assert.deepEqual(success((await call('echo', { a: 1 })).reply).output, { a: 1 })
    }))

  for (const fault of ['noise-flood', 'line-flood', 'message-flood'])
    it(`${fault}: the connection is given up (what is kept of it: mcp-flood.test.ts)`, () =>
      within({ PEER_BAD: fault }, async ({ call }) => {
        const { reply } = await call('hang')
        assert.equal(refusal(reply).failure, 'connect-failed')
      }))

  it('an answer with another id is nobody’s: the call ends at its deadline', () =>
    within({}, async ({ call, notes }) => {
      const abort = new Abort()
      const pending = call('other-id', {}, abort)
      await notes.until(() => notes.calls.length > 0)
      // What comes after it on the same connection is not harmed.
      assert.deepEqual(success((await call('echo', { a: 1 })).reply).output, { a: 1 })
      abort.abort('timeout')
      const { reply } = await pending
      assert.equal(refusal(reply).failure, 'timeout-unknown-commit')
      assert.equal(refusal(reply).definite, false)
    }))

  it('S23: a crash in the midst of a call is not definite, and the next call gets a new program', () =>
    within({}, async ({ call, notes }) => {
      const { reply, sent } = await call('crash')
      assert.equal(refusal(reply).failure, 'connect-failed')
      assert.equal(refusal(reply).definite, false)
      assert.equal(sent, 1)
      assert.deepEqual(success((await call('echo', { a: 1 })).reply).output, { a: 1 })
      assert.equal(notes.starts.length, 2)
    }))

  for (const tool of ['flood', 'leave-a-child'])
    it(`${tool}: one that is about to end is handed to nobody; whoever asks next gets a new program`, () =>
      within({}, async ({ call, notes }) => {
        assert.equal(refusal((await call(tool)).reply).failure, 'connect-failed')
        assert.deepEqual(success((await call('echo', { a: 1 })).reply).output, { a: 1 })
        assert.equal(notes.starts.length, 2)
      }))

  it('a reply that is too large ends its own call alone, wherever its id stands', () =>
    within({}, async ({ call }) => {
      const [large, small] = await Promise.all([call('huge-late-id'), call('delay', { a: 1 })])
      assert.equal(refusal(large.reply).failure, 'output-too-large')
      assert.deepEqual(success(small.reply).output, { a: 1 })
      assert.deepEqual(success((await call('echo', { a: 2 })).reply).output, { a: 2 })
    }))

  it('a slow drip ends at the deadline', () =>
    within({}, async ({ call, notes }) => {
      const abort = new Abort()
      const pending = call('drip', {}, abort)
      await notes.until(() => notes.calls.length > 0)
      abort.abort('timeout')
      assert.equal(refusal((await pending).reply).failure, 'timeout-unknown-commit')
    }))

  it('tools that change in the midst of a call do not alter it, and those who listen are told', () =>
    within({}, async ({ call, sessions, server }) => {
      let told = 0
      const before = await sessions.use(server, new Abort(), async (session) => {
        session.onToolsChanged(() => told++)
        return session.listTools(new Abort())
      })
      assert.equal(before[0]?.description, 'gives back what it got')
      assert.equal(success((await call('change')).reply).output, 'changed')
      assert.equal(told, 1)
      const after = await sessions.use(server, new Abort(), (session) => session.listTools(new Abort()))
      assert.equal(after[0]?.description, 'does something else now')
    }))

  it('one that reads no more is not sent more than it could hold: it is ended, and the next call gets a new one', () =>
    within({}, async ({ call, sessions, server, notes }) => {
      const world = makeWorld()
      const transport = createMcpTransport({ world, mcpSessions: sessions, mcpServer: () => server })
      const giveUp = async (tool: string, input: Json) => {
        const abort = new Abort()
        const sink = makeSink()
        const sending = () => {
          sink.sending()
          setImmediate(() => abort.abort('timeout'))
        }
        const reply = await transport.attempt(makeSend(mcpTool(tool), input, { abort }), {
          ...sink,
          sending,
        })
        return refusal(reply)
      }
      await giveUp('stop-reading', {})
      await notes.until(() => notes.calls.length === 1)
      const large = { text: 'x'.repeat(4 * 1_048_576) }
      const replies = []
      for (let count = 0; count < 8; count++) {
        const reply = await giveUp('echo', large)
        replies.push(reply)
        if (reply.failure === 'connect-failed') break
      }
      const last = replies.at(-1)
      assert.equal(last?.failure, 'connect-failed')
      assert.equal(last?.definite, true)
      assert.ok(replies.length >= 4 && replies.length <= 6, String(replies.length))
      await notes.until(() => notes.starts.every((pid) => !isAlive(pid)))
      assert.deepEqual(success((await call('echo', { a: 1 })).reply).output, { a: 1 })
      assert.equal(notes.starts.length, 2)
      await world.network.destroy()
    }))

  it('one that ignores the end of its input and TERM is killed', () =>
    within({ PEER_BAD: 'ignores-the-end' }, async ({ call }) => {
      success((await call('echo', {})).reply)
    }))

  it('one that is not there says so, and what it wrote to standard error is for operators', () =>
    within(
      { PEER_BAD: 'crash-at-start', PEER_SECRET: 'canary-0123456789' },
      async ({ sessions, server, call }) => {
        const failed = await sessions
          .use(server, new Abort(), async () => {})
          .catch((error: unknown) => error)
        assert.ok(failed instanceof McpFailed)
        assert.match(failed.stderr ?? '', /the secret is/)
        assert.doesNotMatch(JSON.stringify((await call('echo')).reply), /canary/)
      },
    ))
})

describe('a list of tools that is none', () => {
  const lists = [
    ['list-no-json', /cannot be read/],
    ['list-no-json-short', /cannot be read/],
    ['list-no-json-late-id', /cannot be read/],
    ['list-without-result', /cannot be read/],
    ['list-too-long', /cannot be read/],
    ['list-error', /with an error \(-32603\)$/],
  ] as const
  for (const [fault, words] of lists)
    it(`${fault}: it fails at once, and calls go on`, () =>
      within({ PEER_BAD: fault }, async ({ call, sessions, server, notes }) => {
        // Nothing but the answer ends it: no clock of the test does.
        const failed = await sessions
          .use(server, new Abort(), (session) => session.listTools(new Abort()))
          .catch((error: unknown) => error)
        assert.ok(failed instanceof McpFailed)
        assert.equal(failed.refusal.failure, 'reply-malformed')
        assert.match(failed.message, words)
        assert.deepEqual(success((await call('echo', { a: 1 })).reply).output, { a: 1 })
        assert.equal(notes.starts.length, 1)
      }))
})

describe('a list of tools over HTTP that is none', () => {
  const head = (id: Message['id']) => `{"jsonrpc":"2.0","id":${id},"result":`
  const lists: readonly (readonly [string, string, (id: Message['id']) => string])[] = [
    ['no JSON', 'application/json', (id) => `${head(id)}{`],
    ['a stream that ends', 'text/event-stream', () => ''],
    ['a stream with no JSON', 'text/event-stream', (id) => `event: message\ndata: ${head(id)}{\n\n`],
  ]
  for (const [what, type, body] of lists)
    it(`${what}: it fails at once`, async () => {
      const peer = await listenHttp((request, response) => {
        const message = request.body === '' ? undefined : (JSON.parse(request.body) as Message)
        const said = message && handshake(message, 'legacy')
        if (said !== undefined) sendJson(response, said as Json)
        else if (message?.method !== 'tools/list')
          response.writeHead(request.method === 'POST' ? 202 : 405).end()
        else response.writeHead(200, { 'content-type': type }).end(body(message.id))
      })
      const world = makeWorld()
      const sessions = createMcpSessions({ world })
      const endpoint = `${peer.origin}/mcp`
      const server = makeServer({ kind: 'http', endpoint, allow: [], reach: 'loopback' })
      try {
        const failed = await sessions
          .use(server, new Abort(), (session) => session.listTools(new Abort()))
          .catch((error: unknown) => error)
        assert.ok(failed instanceof McpFailed)
        assert.equal(failed.refusal.failure, 'reply-malformed')
        assert.match(failed.message, /cannot be read/)
      } finally {
        await sessions.close()
        await world.network.destroy()
        await peer.close()
      }
    })
})

describe('what a server may answer', () => {
  it('one text is the text, several parts are all there is', () =>
    within({}, async ({ call }) => {
      assert.equal(success((await call('text')).reply).output, 'only words')
      assert.deepEqual(success((await call('parts')).reply).output, {
        content: [
          { type: 'text', text: 'one' },
          { type: 'text', text: 'two' },
        ],
      })
    }))

  it('S23: isError is a failure of the tool, in its words, and not definite', () =>
    within({}, async ({ call }) => {
      const { failure, message, definite } = refusal((await call('tool-error')).reply)
      assert.deepEqual([failure, message, definite], ['upstream-error', 'no paper', false])
    }))

  it('S23: a code in _meta means what it means in an envelope; what is none is left out', () =>
    within({}, async ({ call }) => {
      const meanings = [
        ['rate_limited', 'upstream-throttled', true],
        ['invalid_input', 'upstream-rejected', true],
        ['auth_invalid', 'upstream-unauthorized', true],
        ['permission_denied', 'upstream-forbidden', true],
        ['execution_failed', 'upstream-error', false],
        ['out_of_paper', 'upstream-error', false],
        ['x'.repeat(129), 'upstream-error', false],
        [17, 'upstream-error', false],
        [null, 'upstream-error', false],
      ] as const
      for (const [code, row, isDefinite] of meanings) {
        const { failure, definite, details } = refusal((await call('coded-error', { code })).reply)
        assert.deepEqual([failure, definite], [row, isDefinite], String(code))
        const isCode = typeof code === 'string' && code.length <= 128
        assert.equal(details?.tool_code, isCode ? code : undefined)
      }
    }))

  it('S32: a method that is not there is a refusal', () =>
    within({}, async ({ call }) => {
      const { failure, definite, details } = refusal((await call('gone')).reply)
      assert.deepEqual([failure, definite, details?.jsonrpc_code], ['upstream-rejected', true, -32601])
    }))

  for (const era of ['modern', 'legacy'])
    it(`a tool that asks for more input is refused clearly (${era})`, () =>
      within({ PEER_ERA: era }, async ({ call }) => {
        const { failure, definite, message } = refusal((await call('input-required')).reply)
        assert.equal(definite, false)
        if (era === 'modern') {
          assert.equal(failure, 'upstream-rejected')
          assert.match(message ?? '', /input_required/)
        } else assert.equal(failure, 'reply-malformed')
      }))

  it('progress is told, and a cancel is sent on', () =>
    within({}, async ({ call, notes }) => {
      const { facts } = await call('progress')
      assert.deepEqual(facts[2], { progress: 3, total: 3, message: 'on the way' })
      const abort = new Abort()
      const pending = call('hang', {}, abort)
      await notes.until(() => notes.calls.length > 1)
      abort.abort('canceled')
      assert.equal(refusal((await pending).reply).failure, 'canceled')
      await notes.until(() => notes.cancelled.length > 0)
    }))

  it('the call carries its trace, its key and its attempt', () =>
    within({ PEER_ERA: 'modern' }, async ({ call, notes }) => {
      await call('echo')
      const [seen] = notes.calls
      assert.equal(seen?.traceparent, '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')
      assert.equal(seen?.key, 'k3y_k3y-k3yk3yk3yk3yk3yk3yk3yk3yk3yk3yk3yk3')
      assert.equal(seen?.attempt, 1)
    }))

  it('an input that is no object of arguments is refused before anything is sent', () =>
    within({}, async ({ call }) => {
      const { reply, sent } = await call('echo', [1])
      assert.equal(refusal(reply).failure, 'input-invalid')
      assert.equal(sent, 0)
    }))
})
