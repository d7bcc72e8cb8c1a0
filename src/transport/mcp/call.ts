// One call of a tool over an open connection: from the send to its one reply.
import type { Client } from '@modelcontextprotocol/client'
import { isRepeatHarmless } from '../../contract/projection.ts'
import type { Presented } from '../../credential/credential.ts'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { abortRefusal } from '../abort-refusal.ts'
import { isSuccessStatus, statusRefusal } from '../http-status.ts'
import { traceparent } from '../traceparent.ts'
import type { AttemptSink, Refusal, Reply, Send } from '../transport.ts'
import type { ProgressWatch } from './progress.ts'
import { errorRefusal, flawRefusal, resultReply, wireBytes } from './reply.ts'
import type { CallStatus, Flaw, Wire, WireCall } from './wire.ts'

export interface CallContext {
  readonly client: Client
  readonly wire: Wire
  readonly progress: ProgressWatch
  /** Of the server; empty for a program. */
  readonly origin: string
  now(): number
}

/** The deadline of the attempt is the only clock (S12); the SDK takes no longer one than this. */
const NEVER_MS = 2_147_483_647

export async function callTool(
  { client, wire, progress, origin, now }: CallContext,
  tool: string,
  send: Send,
  sink: AttemptSink,
  presented: Presented | undefined,
): Promise<Reply> {
  if (send.abort.reason !== undefined) return abortRefusal(send.abort.reason, false, send)
  const input = send.input ?? {}
  if (!isJsonObject(input)) return notAnObject()
  const one = createCall(send, sink, presented)
  const { token: progressToken, stop } = progress.watch(sink)
  const params = {
    name: tool,
    arguments: input,
    _meta: {
      progressToken,
      traceparent: traceparent(send.trace),
      'writ/idempotency-key': send.key,
      'writ/attempt': send.attempt,
    },
  }
  const { inputSchema } = send.operation
  try {
    const result = await wire.during(one.wireCall, () =>
      Promise.race([
        client.callTool(params, {
          signal: one.wireCall.signal,
          timeout: NEVER_MS,
          // Given, so that the SDK neither asks for the list of tools nor sends the call a second time by itself.
          toolDefinition: { name: tool, inputSchema: { ...inputSchema, type: 'object' as const } },
        }),
        one.broken,
      ]),
    )
    return resultReply(result, send)
  } catch (error) {
    if (one.fault !== undefined) throw one.fault.error
    if (one.flaw !== undefined) return flawRefusal(one.flaw, send)
    if (send.abort.reason !== undefined) return abortRefusal(send.abort.reason, one.sent, send)
    const { status } = one
    // The SDK reads the body of some of them; what it threw says no more than the status does.
    if (status !== undefined && !isSuccessStatus(status.status) && !isAnswer(error))
      return statusRefusalOf(status, send, now())
    return errorRefusal(error, one.sent, send, origin)
  } finally {
    stop()
    one.end()
  }
}

interface Call {
  readonly wireCall: WireCall
  /** Rejects when the wire finds that no reply can come any more. */
  readonly broken: Promise<never>
  readonly sent: boolean
  readonly fault: { readonly error: unknown } | undefined
  readonly flaw: Flaw | undefined
  readonly status: CallStatus | undefined
  end(): void
}

function createCall(send: Send, sink: AttemptSink, presented: Presented | undefined): Call {
  const controller = new AbortController()
  const unlisten = send.abort.listen((reason) => controller.abort(reason))
  const { promise: broken, reject } = Promise.withResolvers<never>()
  broken.catch(() => {})
  let sent = false
  let ended = false
  let fault: Call['fault']
  let flaw: Flaw | undefined
  let status: CallStatus | undefined
  return {
    wireCall: {
      maxBytes: wireBytes(send.tool.limits.outputBytes),
      repeatHarmless: isRepeatHarmless(send.operation.effect),
      presented,
      signal: controller.signal,
      sending() {
        if (ended || sent || send.abort.aborted) throw new Error('stopped before it was sent')
        try {
          sink.sending()
        } catch (error) {
          fault = { error }
          throw error
        }
        sent = true
      },
      flawed(found) {
        if (ended || flaw !== undefined) return
        flaw = found
        reject(new Error('no reply can come any more'))
      },
      answered(found) {
        status = found
      },
    },
    broken,
    get sent() {
      return sent
    },
    get fault() {
      return fault
    },
    get flaw() {
      return flaw
    },
    get status() {
      return status
    },
    end() {
      if (ended) return
      ended = true
      unlisten()
      // What the SDK still holds for it, and what is still read.
      controller.abort('over')
    },
  }
}

/** An error that the server has put into words of JSON-RPC says more than the status it came with. */
function isAnswer(error: unknown): boolean {
  return error instanceof Error && error.name === 'ProtocolError'
}

function statusRefusalOf({ status, headers }: CallStatus, send: Send, now: number): Refusal {
  return statusRefusal(
    { kind: 'answered', status, headers: { ...headers }, body: new Uint8Array(0) },
    send.operation,
    now,
  )
}

function notAnObject(): Refusal {
  const details: JsonObject = { violations: [{ path: '', message: 'must be an object' }] }
  return {
    kind: 'failure',
    failure: 'input-invalid',
    message: 'the input of an MCP tool is an object of named arguments',
    details,
    definite: true,
  }
}
