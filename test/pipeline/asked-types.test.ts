// A write that timed out, over each type of tool (S22, S27): the real peer counts effects and questions. Where it can be
// asked it is, and its word settles the call; where it cannot, nothing more reaches it.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createEvents } from '../../src/event/event.ts'
import type { RuntimeOptions } from '../../src/runtime.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { envelopeOf, startCallbackPeer } from '../transport/callback-peer.ts'
import { answerMessage, listenGrpc, okEnvelope } from '../transport/grpc-peer.ts'
import { createNotes } from '../transport/mcp-harness.ts'
import { sendJson } from '../transport/tool-peer.ts'
import { runtimeWith } from './harness.ts'

const ASK = 'ask'
/** Long enough for a send to arrive on a busy machine. */
const TIMEOUT = '2s'
const WRITE = { class: 'external-communication' } as const

/** What reached a peer: the operation of each send, in order. */
interface AskedPeer {
  readonly spec: JsonObject
  readonly options?: RuntimeOptions
  seen(): readonly string[]
}

type Open = (t: TestContext, state: string) => Promise<AskedPeer>

const wordOf = (state: string): JsonObject => ({ state, output: { booked: 1 } })

const operationOf = ({ tool }: JsonObject): string => String((tool as JsonObject).operation)

const TYPES: Readonly<Record<string, Open>> = {
  async grpc(t, state) {
    const peer = await listenGrpc((stream, asked) => {
      if (operationOf(asked.envelope) === ASK) answerMessage(stream, okEnvelope(asked, wordOf(state)))
    })
    t.after(() => peer.close())
    return {
      spec: { type: 'grpc', endpoint: peer.address, grpc: { plaintext: true } },
      seen: () => peer.asked.map(({ envelope }) => operationOf(envelope)),
    }
  },

  async 'webhook-callback'(t, state) {
    const peer = await startCallbackPeer()
    t.after(() => peer.close())
    const requests = () => peer.received.filter(({ method }) => method === 'POST')
    peer.answer = ({ body }, response) => {
      const request = JSON.parse(body) as JsonObject
      if (operationOf(request) === ASK)
        sendJson(response, envelopeOf(String(request.request_id), wordOf(state)))
      return true
    }
    return {
      spec: { type: 'webhook-callback', endpoint: peer.url },
      seen: () => requests().map(({ body }) => operationOf(JSON.parse(body))),
    }
  },

  async cli(t, state) {
    const folder = mkdtempSync(join(tmpdir(), 'writ-asked-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'seen')
    const script = `echo "$OPERATION" >>"$SEEN"; [ "$OPERATION" = ${ASK} ] || exec sleep 600; echo "$WORD"`
    const env = { PATH: '/usr/bin:/bin', SEEN: file, WORD: JSON.stringify(wordOf(state)) }
    const cli = { command: 'sh', args: ['-c', script], env, env_call: { OPERATION: 'operation' } }
    return {
      spec: { type: 'cli', cli, output_schema: {} },
      options: { cliAllow: ['sh'] },
      seen: () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []),
    }
  },
}

/** A tool whose write never answers, and the door to it. */
async function openTool(t: TestContext, open: Open, state: string) {
  const peer = await open(t, state)
  const { runtime, door } = await runtimeWith(t, [], peer.options)
  const manifest = {
    apiVersion: 'writ.dev/v1',
    kind: 'Tool',
    metadata: { name: 'booking' },
    spec: {
      ...peer.spec,
      runtime: { timeout: TIMEOUT, isolation_mode: 'none', retry: { max_attempts: 3, backoff: '1ms' } },
      operations: { invoke: {}, [ASK]: { effect: { class: 'read-only' } } },
      effect: { ...WRITE, status_query: ASK },
    },
  }
  const applied = await runtime.resources.apply([{ text: JSON.stringify(manifest), file: 'booking.json' }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
  const call = () => door.call({ tool: 'booking', idempotencyKey: 'one', input: {} })
  const count = (operation: string) => peer.seen().filter((one) => one === operation).length
  const settled = new Promise<string>((resolve) => {
    runtime.events.on('entry:settled', ({ by }) => resolve(by))
  })
  return { call, count, settled }
}

const MCP_PEER = fileURLToPath(new URL('../fixtures/mcp-peer/stdio.ts', import.meta.url))

// They wait most of the time, so they wait together.
describe('a write that timed out', { concurrency: true }, () => {
  for (const [type, open] of Object.entries(TYPES)) {
    it(`S27: ${type}: a write that timed out is asked about, and not made again`, async (t) => {
      const { call, count, settled } = await openTool(t, open, 'done')
      const first = await call()
      if (first.state !== 'succeeded') assert.equal(await settled, 'status-query')
      const after = await call()
      assert.deepEqual([after.state, after.effect, after.output], ['succeeded', 'done', { booked: 1 }])
      assert.deepEqual([count('invoke'), count(ASK)], [1, 1])
    })

    it(`S22: ${type}: an answer that says nothing for certain leaves it unknown, and not made again`, async (t) => {
      const { call, count } = await openTool(t, open, 'perhaps')
      await call()
      const after = await call()
      assert.deepEqual([after.effect, after.final], ['unknown', false])
      assert.equal(count('invoke'), 1)
      assert.ok(count(ASK) >= 1)
    })
  }

  it('S22: mcp: a tool of a server cannot be asked, so a write that timed out stays unknown and is not made again', async (t) => {
    const notes = createNotes()
    t.after(() => notes.close())
    const events = createEvents()
    const found = new Promise<void>((resolve) => {
      events.on('mcp:synced', () => resolve())
    })
    const { runtime, door } = await runtimeWith(t, [], { events })
    const apply = (effect: JsonObject) => {
      const offered = [{ name: 'book', description: 'books', inputSchema: { type: 'object' } }]
      const spec = {
        transport: 'stdio',
        command: process.execPath,
        args: ['--disable-warning=ExperimentalWarning', MCP_PEER],
        env: [
          { name: 'PEER_SEEN', value: notes.file },
          { name: 'PEER_TOOLS', value: JSON.stringify(offered) },
        ],
        tools: { book: { effect, runtime: { timeout: TIMEOUT, retry: { max_attempts: 3 } } } },
      }
      const manifest = { apiVersion: 'writ.dev/v1', kind: 'McpServer', metadata: { name: 'desk' }, spec }
      return runtime.resources.apply([{ text: JSON.stringify(manifest), file: 'desk.json' }])
    }
    for (const status_query of ['invoke', ASK, { operation: ASK }, { url: 'https://a.example/{key}' }])
      assert.equal((await apply({ ...WRITE, status_query })).ok, false, JSON.stringify(status_query))
    const applied = await apply(WRITE)
    assert.ok(applied.ok, JSON.stringify(applied.problems))
    await found
    const call = () => door.call({ tool: 'desk--book', idempotencyKey: 'one', input: {} })
    for (const answer of [await call(), await call()])
      assert.deepEqual([answer.state, answer.effect], ['unknown', 'unknown'], answer.failure?.message)
    assert.deepEqual(
      notes.calls.map(({ tool }) => tool),
      ['book'],
    )
  })
})
