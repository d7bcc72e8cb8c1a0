// Connections to MCP servers: how many there are, what their programs get to see, and that none outlives its use.
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import type { Credentials } from '../../src/credential/credential.ts'
import { createRedactor } from '../../src/credential/redactor.ts'
import type { ResolvedMcpServer } from '../../src/resource/resolved-mcp-server.ts'
import { createMcpSessions } from '../../src/transport/mcp/sessions.ts'
import { createStdioWire } from '../../src/transport/mcp/stdio.ts'
import { createMcpTransport } from '../../src/transport/mcp.ts'
import { Abort } from '../../src/util/abort.ts'
import {
  createNotes,
  isAlive,
  makeServer,
  makeWorld,
  mcpTool,
  type PeerNotes,
  peerProgram,
  programOf,
} from './mcp-harness.ts'
import { makeSend, makeSink } from './send-fixture.ts'
import { pause, refusal, success } from './transport-contract.ts'

const world = makeWorld()
after(() => world.network.destroy())

const gone = async (pid: number | undefined) => {
  while (pid !== undefined && isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 5))
}

describe('connections to MCP servers', () => {
  let notes: PeerNotes
  let sessions: ReturnType<typeof createMcpSessions>
  before(() => {
    notes = createNotes()
    sessions = createMcpSessions({ world })
  })
  after(async () => {
    await sessions.close()
    for (const pid of notes.starts) assert.equal(isAlive(pid), false)
    notes.close()
  })
  const call = (server: ResolvedMcpServer, tool = 'echo', abort = new Abort()) =>
    createMcpTransport({ world, mcpSessions: sessions, mcpServer: () => server }).attempt(
      makeSend(mcpTool(tool), {}, { abort }),
      makeSink(),
    )

  it('calls that come together share the one that is opened for the first', async () => {
    const server = makeServer(peerProgram(notes), { name: 'shared' })
    const started = notes.starts.length
    for (const reply of await Promise.all(Array.from({ length: 20 }, () => call(server)))) success(reply)
    assert.equal(notes.starts.length, started + 1)
  })

  it('another digest of a server is another connection', async () => {
    const server = makeServer(peerProgram(notes), { name: 'changed' })
    const started = notes.starts.length
    success(await call(server))
    success(await call({ ...server, digest: 'sha256:newer' }))
    assert.equal(notes.starts.length, started + 2)
    await gone(notes.starts[started])
  })

  it('one whose server is declared no more ends once its calls are over', async () => {
    const server = makeServer(peerProgram(notes), { name: 'deleted' })
    const pending = call(server, 'delay')
    const calls = notes.calls.length
    await notes.until(() => notes.calls.length > calls)
    sessions.forget(server)
    success(await pending)
    await gone(notes.starts.at(-1))
  })

  it('one that is opened after its server was forgotten, and its caller has left, ends at once', async () => {
    const server = makeServer(peerProgram(notes, { PEER_BAD: 'late' }), { name: 'late' })
    const started = notes.starts.length
    const abort = new Abort()
    const pending = call(server, 'echo', abort)
    await notes.until(() => notes.starts.length > started)
    abort.abort('timeout')
    assert.equal(refusal(await pending).failure, 'timeout-before-send')
    sessions.forget(server)
    const [pid = 0] = notes.starts.slice(started)
    assert.equal(isAlive(pid), true)
    process.kill(pid, 'SIGUSR2')
    await gone(pid)
    assert.equal(notes.starts.length, started + 1)
  })

  it('a forgotten server that is still being opened at the end of all leaves no program', async () => {
    const own = createMcpSessions({ world })
    const server = makeServer(peerProgram(notes, { PEER_BAD: 'late' }), { name: 'late-at-end' })
    const started = notes.starts.length
    const abort = new Abort()
    const pending = own.use(server, abort, async () => {})
    await notes.until(() => notes.starts.length > started)
    abort.abort('timeout')
    await assert.rejects(pending)
    own.forget(server)
    await own.close()
    assert.equal(isAlive(notes.starts.at(-1) ?? 0), false)
  })

  it('a call that waits in line for a server that is forgotten is made, and leaves no program', async () => {
    const server = makeServer(peerProgram(notes), { name: 'in-line', concurrency: 1 })
    const [started, calls] = [notes.starts.length, notes.calls.length]
    const holder = new Abort()
    const first = call(server, 'hang', holder)
    await notes.until(() => notes.calls.length > calls)
    const second = call(server)
    sessions.forget(server)
    holder.abort('timeout')
    await first
    success(await second)
    for (const pid of notes.starts.slice(started)) await gone(pid)
  })

  it('a program sees nothing but what is declared, and where programs are', async () => {
    process.env.WRIT_TEST_LEAK = 'must not be seen'
    const server = makeServer(peerProgram(notes, { DECLARED: 'yes' }), { name: 'clean' })
    success(await call(server))
    delete process.env.WRIT_TEST_LEAK
    // Node itself hands on where coverage goes, in a run that takes it.
    const seen = notes.environments.at(-1)?.filter((name) => name !== 'NODE_V8_COVERAGE')
    assert.deepEqual(seen, ['DECLARED', 'PATH', 'PEER_SEEN'])
  })

  it('one that nobody used for the idle time is closed, and opened again when needed', async () => {
    const server = makeServer(peerProgram(notes), { name: 'idle', idleMs: 30 })
    success(await call(server))
    const first = notes.starts.at(-1)
    await gone(first)
    success(await call(server))
    assert.notEqual(notes.starts.at(-1), first)
  })

  it('looks at the list keep nothing open that nobody calls', async () => {
    let passed = 0
    const clock = { now: world.clock.now, monotonic: () => world.clock.monotonic() + passed }
    const kept = createMcpSessions({ world: { ...world, clock } })
    const server = makeServer(peerProgram(notes), { name: 'looked-at', idleMs: 600_000 })
    const started = notes.starts.length
    const look = () =>
      kept.use(server, new Abort(), (session) => session.listTools(new Abort()), { aside: true })
    await kept.use(server, new Abort(), (session) => session.listTools(new Abort()))
    passed += 300_000
    await look()
    assert.equal(isAlive(notes.starts.at(-1) ?? 0), true)
    passed += 300_000
    await look()
    await gone(notes.starts.at(-1))
    await look()
    await gone(notes.starts.at(-1))
    assert.equal(notes.starts.length, started + 2)
    await kept.close()
  })

  it('no more calls than declared are under way at once; the next waits only as long as its deadline', async () => {
    const server = makeServer(peerProgram(notes), { name: 'narrow', concurrency: 1 })
    const calls = notes.calls.length
    const holder = new Abort()
    const first = call(server, 'hang', holder)
    await notes.until(() => notes.calls.length === calls + 1)
    const impatient = new Abort()
    const second = call(server, 'echo', impatient)
    const third = call(server)
    impatient.abort('timeout')
    assert.equal(refusal(await second).failure, 'timeout-before-send')
    assert.equal(notes.calls.length, calls + 1)
    holder.abort('timeout')
    await first
    success(await third)
  })

  it('S33: isolation that a program of the host cannot have is refused', async () => {
    const server = makeServer(peerProgram(notes), { name: 'isolated' })
    for (const isolation of ['sandboxed', 'container', 'wasm'] as const) {
      const transport = createMcpTransport({ world, mcpSessions: sessions, mcpServer: () => server })
      const reply = await transport.attempt(makeSend(mcpTool('echo', { isolation }), {}), makeSink())
      assert.equal(refusal(reply).failure, 'isolation-unavailable')
    }
  })

  it('a tool whose server is gone says so', async () => {
    const transport = createMcpTransport({ world, mcpSessions: sessions })
    const reply = await transport.attempt(makeSend(mcpTool('echo'), {}), makeSink())
    assert.equal(refusal(reply).failure, 'config-invalid')
    assert.match(refusal(reply).message ?? '', /there is no MCP server peer/)
  })
})

describe('a server that cannot be reached', () => {
  const BASE_MS = 5_555

  /** Calls of a program on a clock that stands still; pauses between tries are written down, and over when `end` says. */
  function house(
    t: TestContext,
    env: Readonly<Record<string, string>>,
    maxAttempts: number,
    end = 'at-once',
  ) {
    const pauses: number[] = []
    let paused = () => {}
    const pausing = new Promise<void>((resolve) => {
      paused = resolve
    })
    const impatient = {
      ...world,
      clock: { ...world.clock, monotonic: () => 1_000 },
      random: () => 0,
      after(ms: number, run: () => void) {
        if ((2 * ms) % BASE_MS !== 0) return world.after(ms, run)
        pauses.push(ms)
        paused()
        return end === 'at-once' ? world.after(0, run) : { cancel() {} }
      },
    }
    const notes = createNotes()
    const server = makeServer(peerProgram(notes, env), { reconnect: { maxAttempts, backoffMs: BASE_MS } })
    const sessions = createMcpSessions({ world: impatient })
    const transport = createMcpTransport({ world, mcpSessions: sessions, mcpServer: () => server })
    t.after(async () => {
      await sessions.close()
      assert.deepEqual(
        notes.starts.filter((pid) => isAlive(pid)),
        [],
      )
      notes.close()
    })
    const call = (tool = 'echo', abort = new Abort()) =>
      transport.attempt(makeSend(mcpTool(tool), {}, { abort }), makeSink())
    return { call, pauses, pausing, notes }
  }

  it('is tried again after pauses that double, as often as declared', async (t) => {
    const { call, pauses } = house(t, { PEER_BAD: 'crash-at-start' }, 4)
    assert.equal(refusal(await call()).failure, 'connect-failed')
    assert.deepEqual(pauses, [BASE_MS / 2, BASE_MS, 2 * BASE_MS])
  })

  it('whoever asks next gets tries of its own, the first after a pause', async (t) => {
    const { call, pauses, notes } = house(t, { PEER_BAD: 'crash-at-start' }, 1)
    assert.equal(refusal(await call()).failure, 'connect-failed')
    const { length } = notes.starts
    assert.deepEqual(pauses, [])
    const next = refusal(await call())
    assert.deepEqual([next.failure, next.definite], ['connect-failed', true])
    assert.match(next.message ?? '', /no connection to the MCP server peer \(it ended in the handshake\)/)
    assert.deepEqual([pauses, notes.starts.length], [[BASE_MS / 2], 2 * length])
  })

  it('one whose deadline comes in the pause is told what went wrong before', async (t) => {
    const { call, pausing } = house(t, { PEER_BAD: 'crash-at-start' }, 1, 'never')
    await call()
    const abort = new Abort()
    const next = call('echo', abort)
    await pausing
    abort.abort('timeout')
    const { failure, definite, message } = refusal(await next)
    assert.deepEqual([failure, definite], ['timeout-before-send', true])
    assert.match(message ?? '', /which failed before: no connection to the MCP server peer/)
  })

  it('one that was of use and ends is opened anew at once, one that was of none after a pause', async (t) => {
    const { call, pauses } = house(t, {}, 1)
    success(await call('echo'))
    refusal(await call('crash'))
    success(await call('echo'))
    assert.deepEqual(pauses, [])
    refusal(await call('crash'))
    refusal(await call('crash'))
    success(await call('echo'))
    assert.deepEqual(pauses, [BASE_MS / 2])
  })
})

describe('secrets of a program', () => {
  /** What is shown of standard error, when a program has written its secret in two parts. */
  async function toldInParts(secret: string, cut: (bytes: Buffer) => number): Promise<string> {
    const bytes = Buffer.from(`cannot log in with ${secret}\n`)
    const parts = [bytes.subarray(0, cut(bytes)), bytes.subarray(cut(bytes))]
    const write = (part: Buffer) => `process.stderr.write(Buffer.from('${part.toString('hex')}', 'hex'))`
    const [one = '', other = ''] = parts.map(write)
    const source = `${one}; process.stdin.once('data', () => { ${other}; process.stdin.destroy() })`
    const presented = {
      headers: [],
      env: {},
      version: '1',
      redactor: createRedactor([secret]),
      rejected: () => false,
    }
    const wire = createStdioWire({ world, program: programOf(['-e', source]), path: '', presented })
    const over = new Promise<void>((resolve) => {
      wire.transport.onclose = resolve
    })
    await wire.transport.start()
    while (wire.stderr() === '') await pause(5)
    await wire.transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    await over
    return wire.stderr()
  }

  it('are taken out of standard error where one of their characters comes in two parts', async () => {
    const said = await toldInParts('geheimes-Paßwort-der-Datenbank', (bytes) => bytes.indexOf(0xc3) + 1)
    assert.equal(said, 'cannot log in with [redacted]')
  })

  it('are taken out of standard error also where they hold what nobody sees', async () => {
    const said = await toldInParts('geheimes-Pass\u200dwort-der-Datenbank', (bytes) => bytes.indexOf(0xe2))
    assert.equal(said, 'cannot log in with [redacted]')
  })

  it('are given at its start, taken out of what it says, and after a rotation it is started anew', async () => {
    const notes = createNotes()
    let version = '1'
    const value = () => `canary-${version}-0123456789`
    const credentials: Credentials = {
      async present() {
        return {
          ok: true,
          presented: {
            headers: [],
            env: { PEER_SECRET: value() },
            version,
            redactor: createRedactor([value()]),
            rejected: () => false,
          },
        }
      },
      version: async () => version,
      read: async () => undefined,
      close: async () => {},
    }
    const sessions = createMcpSessions({ world, credentials })
    const connection = {
      ...peerProgram(notes),
      envFrom: [{ name: 'PEER_SECRET', secretRef: 'peer-secret' }],
    }
    const server = makeServer(connection)
    const transport = createMcpTransport({
      world,
      credentials,
      mcpSessions: sessions,
      mcpServer: () => server,
    })
    const call = () => transport.attempt(makeSend(mcpTool('secret'), {}), makeSink())
    try {
      const first = JSON.stringify(success(await call()).output)
      assert.match(first, /it is /)
      assert.doesNotMatch(first, /canary-1/)
      await call()
      assert.equal(notes.starts.length, 1)
      version = '2'
      assert.doesNotMatch(JSON.stringify(success(await call()).output), /canary-2/)
      assert.equal(notes.starts.length, 2)
      await gone(notes.starts[0])
    } finally {
      await sessions.close()
      notes.close()
    }
  })
})
