// Tools that are functions in this very process (S55). The hot path: no timers, no signals unless asked for.
import type { Trace } from '../contract/call.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import type { Abort } from '../util/abort.ts'
import { isJsonObject, type Json, type JsonObject } from '../util/json.ts'
import { abortRefusal } from './abort-refusal.ts'
import { toolRefusal } from './envelope-reply.ts'
import { cloneJson, copyAsJson } from './json-copy.ts'
import { ToolError } from './tool-error.ts'
import type { AttemptSink, Refusal, Reply, Send, Transport, TransportOptions } from './transport.ts'

/** What a handler may know of the send it serves. */
export interface NativeContext {
  /** Aborted at the deadline or on cancel. Made on first use. */
  readonly signal: AbortSignal
  /** Equal on every attempt of one intended effect (S19). */
  readonly key: string
  readonly attempt: number
  readonly callId: string
  readonly requestId: string
  readonly deadlineUnixMs: number
  readonly trace: Trace
  readonly agent: string | undefined
  readonly taskId: string | undefined
  progress(fact: JsonObject): void
}

/** Gets its own copy of the input. What it returns is copied, too. */
export type NativeHandler = (input: Json | undefined, context: NativeContext) => unknown

export type NativeTool = Pick<ResolvedTool, 'namespace' | 'name' | 'version' | 'digest'>

export interface NativeTransport extends Transport {
  /**
   * Gives a tool its code. The digest is part of it: an entry pinned to another build never runs this one. Returns how
   * to take it back. Throws when the tool already has handlers.
   */
  register(tool: NativeTool, handlers: Readonly<Record<string, NativeHandler>>): () => void
}

export interface NativeTransportOptions extends TransportOptions {
  /** Hears of what a handler threw: the caller is not told, the operator should be. */
  readonly onCrash?: (error: unknown, send: Send) => void
}

type Report = (error: unknown, send: Send) => void

interface Registration {
  readonly digest: string
  readonly handlers: ReadonlyMap<string, NativeHandler>
}

export function createNativeTransport(options: NativeTransportOptions): NativeTransport {
  const tools = new Map<string, Registration>()
  const { world, onCrash } = options
  // Out of the way of the reply: a listener that throws must not cost the caller its answer.
  const report: Report = (error, send) => {
    if (onCrash) world.soon(() => onCrash(error, send))
  }

  return {
    type: 'native',

    register(tool, handlers) {
      const key = keyOf(tool)
      if (tools.has(key)) throw new Error(`${key} already has handlers; take those back first`)
      const registration = { digest: tool.digest, handlers: new Map(Object.entries(handlers)) }
      tools.set(key, registration)
      return () => {
        if (tools.get(key) === registration) tools.delete(key)
      }
    },

    attempt(send, sink) {
      const registration = tools.get(keyOf(send.tool))
      if (registration === undefined) return Promise.resolve(notHere(send))
      if (registration.digest !== send.tool.digest) return Promise.resolve(otherBuild(send))
      const handler = registration.handlers.get(send.operation.name)
      if (handler === undefined) return Promise.resolve(notHere(send))
      if (send.abort.reason !== undefined)
        return Promise.resolve(abortRefusal(send.abort.reason, false, send))
      return run(handler, send, sink, report)
    },

    close: () => Promise.resolve(),
  }
}

function run(handler: NativeHandler, send: Send, sink: AttemptSink, report: Report): Promise<Reply> {
  const input = send.input === undefined ? undefined : cloneJson(send.input)
  const context = new Context(send, sink)
  sink.sending()
  // Stopped by the very last check of its caller: nothing runs, but `sending` has been said.
  if (send.abort.reason !== undefined) return Promise.resolve(abortRefusal(send.abort.reason, true, send))
  let pending: PromiseLike<unknown>
  try {
    const result = handler(input, context)
    if (!isThenable(result)) {
      context.end()
      return Promise.resolve(success(result, send))
    }
    pending = result
  } catch (error) {
    context.end()
    return Promise.resolve(crash(error, send, report))
  }
  return new Promise((resolve) => {
    // The first end wins. A handler that ignores the abort goes on, but nobody waits for it or hears it any more.
    let ended = false
    const end = (reply: () => Reply) => {
      if (ended) return
      ended = true
      unlisten()
      context.end()
      resolve(reply())
    }
    let unlisten = () => {}
    unlisten = send.abort.listen((reason) => end(() => abortRefusal(reason, true, send)))
    const fail = (error: unknown) => end(() => crash(error, send, report))
    try {
      pending.then((value) => {
        if (ended) sink.late(success(value, send))
        else end(() => success(value, send))
      }, fail)
    } catch (error) {
      // It only looked like a promise.
      fail(error)
    }
  })
}

class Context implements NativeContext {
  readonly key: string
  readonly attempt: number
  readonly callId: string
  readonly requestId: string
  readonly deadlineUnixMs: number
  readonly trace: Trace
  readonly agent: string | undefined
  readonly taskId: string | undefined
  readonly #abort: Abort
  #sink: AttemptSink | undefined

  constructor(send: Send, sink: AttemptSink) {
    this.key = send.key
    this.attempt = send.attempt
    this.callId = send.callId
    this.requestId = send.requestId
    this.deadlineUnixMs = send.deadlineUnixMs
    this.trace = send.trace
    this.agent = send.agent
    this.taskId = send.taskId
    this.#abort = send.abort
    this.#sink = sink
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  progress(fact: JsonObject): void {
    this.#sink?.progress(fact)
  }

  /** After its reply an attempt has nothing to say. */
  end(): void {
    this.#sink = undefined
  }
}

function success(value: unknown, send: Send): Reply {
  const limit = send.tool.limits.outputBytes
  const copy = copyAsJson(value, limit)
  if (copy.ok) return { kind: 'success', output: copy.value, bytes: copy.bytes }
  if (copy.reason === 'too-large') {
    return { kind: 'failure', failure: 'output-too-large', details: { limit_bytes: limit }, definite: false }
  }
  const { path, message } = copy.violation
  return {
    kind: 'failure',
    failure: 'output-invalid',
    message: `the handler returned what is not JSON: ${path === '' ? 'the output' : path} ${message}`,
    details: { violations: [{ path, message }] },
    definite: false,
  }
}

/** Never throws, whatever was thrown: an error that cannot be read is a crash like any other. */
function crash(error: unknown, send: Send, report: Report): Refusal {
  let fault = error
  try {
    if (error instanceof ToolError) return saidBy(error, send)
  } catch (unreadable) {
    fault = unreadable
  }
  report(fault, send)
  return {
    kind: 'failure',
    failure: 'tool-crashed',
    message: 'the handler of the tool threw an error',
    definite: false,
  }
}

/** Its types are a promise of the handler's author only, so each part is looked at. */
function saidBy(error: ToolError, send: Send): Refusal {
  const { code, message, effect, retryable, details } = error
  return toolRefusal(
    {
      kind: 'failure',
      status: 'error',
      code: typeof code === 'string' ? code : 'execution_failed',
      dialect: 'v1',
      message: String(message),
      harmless: effect === 'none',
      ...(typeof retryable === 'boolean' ? { retryable } : {}),
      ...(isJsonObject(details) ? { details } : {}),
    },
    send.operation,
  )
}

function notHere(send: Send): Refusal {
  return {
    kind: 'failure',
    failure: 'isolation-unavailable',
    message: `no handler of ${keyOf(send.tool)} for operation '${send.operation.name}' is registered in this process`,
    details: { operation: send.operation.name },
    definite: true,
  }
}

function otherBuild(send: Send): Refusal {
  return {
    kind: 'failure',
    failure: 'integrity-failed',
    message: `the handler of ${keyOf(send.tool)} in this process belongs to another build of the tool`,
    details: { digest: send.tool.digest },
    definite: true,
  }
}

function keyOf(tool: Pick<ResolvedTool, 'namespace' | 'name' | 'version'>): string {
  return `${tool.namespace}/${tool.name}@${tool.version}`
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}
