// A transport whose sends present what their tool declares, and whose replies hold nothing of it.
//
// Where nothing can be presented, nothing is sent. A tool that declares no credential goes straight through.
import type { CredentialNeed, Credentials, NotPresented, Presented } from '../credential/credential.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import { abortRefusal } from './abort-refusal.ts'
import { redactReply, redactSink } from './redact-reply.ts'
import type { AttemptSink, Refusal, Reply, Send, Transport } from './transport.ts'

/** How soon the end of work is asked for again, where a report of it could not be read. */
const ASK_AGAIN_MS = 5_000

export function withCredentials(transport: Transport, credentials: Credentials): Transport {
  const { attach, receive } = transport

  /** `run` is what the transport does with the send. */
  async function presented(
    send: Send,
    need: CredentialNeed,
    sink: AttemptSink,
    run: (send: Send, sink: AttemptSink) => Promise<Reply>,
  ): Promise<Reply> {
    const result = await credentials.present(need, send.abort)
    const { reason } = send.abort
    if (reason !== undefined) return abortRefusal(reason, false, send)
    if (!result.ok) return refusalOf(result.refusal)
    const shown = result.presented
    if (send.credentialVersion !== undefined && send.credentialVersion !== shown.version) return rotated()
    const clean = redactSink(sink, shown.redactor)
    try {
      const reply = await run({ ...send, credentials: shown }, clean)
      clean.flush()
      return redactReply(ifRejected(reply, send, shown), shown.redactor)
    } catch (error) {
      throw cleanError(error, shown)
    }
  }

  return {
    type: transport.type,
    attempt(send, sink) {
      const need = needOf(send.tool)
      if (need === undefined) return transport.attempt(send, sink)
      return presented(send, need, sink, (one, clean) => transport.attempt(one, clean))
    },
    ...(attach === undefined
      ? {}
      : {
          attach(handle, send, sink) {
            const need = needOf(send.tool)
            const ask = attach.bind(transport, handle)
            return need === undefined ? ask(send, sink) : presented(send, need, sink, ask).then(stillAsked)
          },
        }),
    ...(receive === undefined
      ? {}
      : {
          async receive(body, send) {
            const need = needOf(send.tool)
            if (need === undefined) return receive.call(transport, body, send)
            const result = await credentials.present(need, send.abort)
            // Nobody knows what to take out of it: its end is asked for instead.
            if (!result.ok)
              return { kind: 'accepted', pollInMs: ASK_AGAIN_MS, missed: result.refusal.failure }
            const { redactor } = result.presented
            return redactReply(await receive.call(transport, body, send), redactor)
          },
        }),
    close: () => transport.close(),
  }
}

/** What a tool declares; undefined for nothing. */
export function needOf(tool: ResolvedTool): CredentialNeed | undefined {
  const { namespace, auth, cli } = tool
  const env = cli?.envFrom ?? []
  if (auth === undefined && env.length === 0) return undefined
  return { namespace, ...(auth === undefined ? {} : { auth }), ...(env.length === 0 ? {} : { env }) }
}

function refusalOf({ failure, message, details, transient }: NotPresented): Refusal {
  return {
    kind: 'failure',
    failure,
    message,
    ...(details === undefined ? {} : { details }),
    definite: true,
    ...(transient ? { transient } : {}),
  }
}

/** S22: a tool that remembers keys for each credential does not know this one's. */
function rotated(): Refusal {
  return {
    kind: 'failure',
    failure: 'secret-missing',
    message: 'the secret of the tool is another one than at the first send; it was not sent again',
    definite: true,
  }
}

/** The tool did not take an access token: there may be a newer one. Once in a call; after that it is the client's fault. */
function ifRejected(reply: Reply, send: Send, shown: Presented): Reply {
  if (reply.kind !== 'failure' || reply.failure !== 'upstream-unauthorized') return reply
  return shown.rejected() && send.renewed !== true ? { ...reply, failure: 'token-expired' } : reply
}

/** Work that was taken on is asked for again where the credential was in the way: that says nothing about its end. */
function stillAsked(reply: Reply): Reply {
  if (reply.kind !== 'failure' || !IN_THE_WAY.has(reply.failure)) return reply
  return { kind: 'accepted', pollInMs: ASK_AGAIN_MS, missed: reply.failure }
}

const IN_THE_WAY: ReadonlySet<Refusal['failure']> = new Set([
  'secret-missing',
  'secret-out-of-scope',
  'token-exchange-failed',
  'token-expired',
])

/** What the sink throws has to come back as it is; only what holds a secret is another error. */
function cleanError(error: unknown, { redactor }: Presented): unknown {
  if (!(error instanceof Error)) return typeof error === 'string' ? redactor.text(error) : error
  const { message, stack = '' } = error
  if (redactor.text(message) === message && redactor.text(stack) === stack) return error
  const clean = new Error(redactor.text(message))
  clean.name = redactor.text(error.name)
  clean.stack = redactor.text(stack)
  return clean
}
