// MCP over the standard streams of a program of our own: no shell, a clean environment, a process group that ends with us.
import { AsyncLocalStorage } from 'node:async_hooks'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import type { JSONRPCMessage, Transport as SdkTransport } from '@modelcontextprotocol/client'
import type { Presented } from '../../credential/credential.ts'
import { cleanText } from '../../resource/mcp-text.ts'
import type { McpStdio } from '../../resource/resolved-mcp-server.ts'
import { isJsonObject, type Violation } from '../../util/json.ts'
import { parseStrictJson } from '../../util/strict-json.ts'
import type { Timer, World } from '../../util/world.ts'
import { createLines } from './lines.ts'
import { idAtEnd, idAtStart, problemOf, unreadable } from './unreadable.ts'
import { isToolCall, type Wire, type WireCall } from './wire.ts'

export interface StdioOptions {
  readonly world: Pick<World, 'after' | 'clock'>
  readonly program: McpStdio
  /** Where programs are looked for, and all that the program gets beside what is declared. */
  readonly path: string
  /** Secrets of its environment. */
  readonly presented: Presented | undefined
}

/** A line that answers no call, such as a page of tools. */
const LINE_BYTES = 4 * 1_048_576
/** Text that is no message, between two messages. */
const NOISE_BYTES = 1_048_576
const UNASKED_BURST = 5_000
const UNASKED_A_SECOND = 500
/** Of what it was sent and has not read: calls that were given up leave theirs behind. */
const UNREAD_BYTES = 16 * 1_048_576
const STDERR_BYTES = 8_192
const STDERR_SHOWN = 2_048
/** Of the message around what a tool gives. */
const ENVELOPE_DEPTH = 8
/** From the end of its input to TERM, and from there to KILL. */
const GRACE_MS = 500
/** A child of the program may hold its output open after the end of it. */
const DRAIN_MS = 250
/** `{` */
const OBJECT = 0x7b

export function createStdioWire({ world, program, path, presented }: StdioOptions): Wire {
  const calls = new AsyncLocalStorage<WireCall>()
  const pending = new Map<number | string, WireCall>()
  let child: ChildProcessWithoutNullStreams | undefined
  let over: Promise<void> = Promise.resolve()
  let state: 'new' | 'open' | 'closing' | 'closed' = 'new'
  /** It was given up: what it still says is not heard. */
  let deaf = false
  let noise = 0
  let patience = UNASKED_BURST
  let heardAt = world.clock.monotonic()
  let stderr = ''

  const transport: SdkTransport & { readonly stderr: null; readonly pid: number | null } = {
    // The SDK knows by these two that silence means an older server here, not an outage.
    stderr: null,
    get pid() {
      return child?.pid ?? null
    },
    start,
    send,
    close,
  }

  const lines = createLines({
    maxBytes: () => Math.max(LINE_BYTES, ...[...pending.values()].map(({ maxBytes }) => maxBytes)),
    line: read,
    tooLong(head) {
      const id = idAtStart(head)
      if (id !== undefined) tellTooLarge(id)
      else if (pending.size === 1) for (const call of pending.values()) call.flawed({ kind: 'too-large' })
    },
    tail(tail) {
      const id = idAtEnd(tail)
      if (id !== undefined) tellTooLarge(id)
    },
    flood: fail,
  })

  function tellTooLarge(id: number): void {
    const call = pending.get(id)
    if (call !== undefined) call.flawed({ kind: 'too-large' })
    else transport.onmessage?.(unreadable(id, `the answer is longer than ${LINE_BYTES} bytes`))
  }

  async function start(): Promise<void> {
    if (state !== 'new') throw new Error('the connection was opened already')
    state = 'open'
    const started = spawn(program.command, program.args, {
      env: { PATH: path, ...program.env, ...presented?.env },
      stdio: 'pipe',
      // A group of its own, so that what it starts ends with it.
      detached: true,
      windowsHide: true,
    })
    child = started
    over = new Promise((resolve) => {
      let drain: Timer | undefined
      const end = () => {
        drain?.cancel()
        state = 'closed'
        killGroup(started, 'SIGKILL')
        for (const stream of [started.stdin, started.stdout, started.stderr]) stream.destroy()
        resolve()
      }
      started.once('close', end)
      started.once('exit', () => {
        drain = world.after(DRAIN_MS, end)
      })
      started.once('error', end)
    })
    started.stdin.on('error', () => {})
    started.stdout.on('error', () => {})
    started.stderr.on('error', () => {})
    started.stdout.on('data', (chunk: Buffer) => lines.push(chunk))
    // A character may come in two chunks, and a secret with a broken one would not be found.
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-STDERR_BYTES)
    })
    over.then(() => transport.onclose?.())
    await new Promise<void>((resolve, reject) => {
      started.once('spawn', resolve)
      started.once('error', (error: NodeJS.ErrnoException) =>
        reject(
          new Error(`the program '${program.command}' could not be started (${error.code ?? 'UNKNOWN'})`),
        ),
      )
    })
  }

  function isOpen(): boolean {
    return state === 'open' && child !== undefined && !hasExited(child)
  }

  async function send(message: JSONRPCMessage): Promise<void> {
    const stdin = child?.stdin
    if (!isOpen() || stdin === undefined || !stdin.writable) throw new Error('the program has ended')
    if ('id' in message && stdin.writableLength > UNREAD_BYTES) {
      fail('does not read what it is sent')
      throw new Error('the program does not read what it is sent')
    }
    const text = `${oneLine(message)}\n`
    const call = isToolCall(message) ? calls.getStore() : undefined
    if (call !== undefined) {
      call.sending()
      if ('id' in message && message.id !== undefined) pending.set(message.id, call)
    }
    await new Promise<void>((resolve, reject) => {
      stdin.write(text, (error) => (error ? reject(error) : resolve()))
    })
  }

  function read(line: Buffer): void {
    if (deaf) return
    const parsed = parseStrictJson(line, { maxDepth: 128 + ENVELOPE_DEPTH })
    if (!parsed.ok) {
      const id = line[0] === OBJECT ? (idAtStart(line) ?? idAtEnd(line)) : undefined
      if (id === undefined) heardNoise(line)
      else tellMalformed(id, 'the answer is no JSON that can be read', parsed.violations)
      return
    }
    const message = parsed.value
    if (!isJsonObject(message) || message.jsonrpc !== '2.0') {
      heardNoise(line)
      return
    }
    noise = 0
    if (message.method !== undefined) {
      if (!unasked()) return
    } else {
      const problem = problemOf(message)
      if (problem !== undefined && typeof message.id === 'number') {
        tellMalformed(message.id, problem, [{ path: '', message: problem }])
        return
      }
    }
    transport.onmessage?.(message as unknown as JSONRPCMessage)
  }

  /** Whoever waits for it is told, rather than left waiting. */
  function tellMalformed(id: number, why: string, violations: readonly Violation[]): void {
    const call = pending.get(id)
    if (call !== undefined) {
      call.flawed({ kind: 'malformed', violations })
      return
    }
    if (unasked()) transport.onmessage?.(unreadable(id, why))
  }

  /** What nobody has asked for is heard at a rate that a person could follow, and a burst of it; false: no more of it. */
  function unasked(): boolean {
    const now = world.clock.monotonic()
    patience = Math.min(UNASKED_BURST, patience + ((now - heardAt) * UNASKED_A_SECOND) / 1_000) - 1
    heardAt = now
    if (patience < 0) fail('sends more messages that nobody asked for than can be read')
    return patience >= 0
  }

  function heardNoise(line: Buffer): void {
    unasked()
    noise += line.length
    if (noise > NOISE_BYTES) fail(`wrote more than ${NOISE_BYTES} bytes that are no MCP messages`)
  }

  /** Ends the connection, and every call on it. */
  function fail(why: string): void {
    if (state !== 'open') return
    deaf = true
    for (const call of pending.values()) call.flawed({ kind: 'cut', why: `the program ${why}` })
    transport.onerror?.(new Error(`the program ${why}`))
    void close()
  }

  async function close(): Promise<void> {
    const started = child
    if (state === 'closed' || started === undefined) {
      state = 'closed'
      return
    }
    if (state === 'open') {
      state = 'closing'
      // What it said before its end is still read, and that is over in a moment.
      if (hasExited(started)) return over
      started.stdin.end()
      const later = [
        world.after(GRACE_MS, () => killGroup(started, 'SIGTERM')),
        world.after(GRACE_MS * 2, () => killGroup(started, 'SIGKILL')),
      ]
      over.then(() => {
        for (const timer of later) timer.cancel()
      })
      // What floods is not read any more, and does not end because its input has.
      started.stdout.removeAllListeners('data').resume()
    }
    await over
  }

  return {
    transport,
    async during(call, run) {
      try {
        return await calls.run(call, run)
      } finally {
        for (const [id, one] of pending) if (one === call) pending.delete(id)
      }
    },
    isOpen,
    stderr() {
      const redact = (text: string) => presented?.redactor.text(text) ?? text
      // Before, since a secret may hold what is taken out; and after, so that nothing puts one together again.
      const text = redact(cleanText(redact(stderr), Number.POSITIVE_INFINITY))
      return text.slice(-STDERR_SHOWN)
    },
    close,
  }
}

/** Some readers take U+2028 and U+2029, which JSON lets stand in a text, for the end of a line. */
function oneLine(message: JSONRPCMessage): string {
  return JSON.stringify(message).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
}

function hasExited({ exitCode, signalCode }: ChildProcessWithoutNullStreams): boolean {
  return exitCode !== null || signalCode !== null
}

function killGroup({ pid }: ChildProcessWithoutNullStreams, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // Nobody of the group is left.
  }
}
