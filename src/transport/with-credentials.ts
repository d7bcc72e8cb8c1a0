// A transport whose sends present what their tool declares, and whose replies hold nothing of it.
//
// Where nothing can be presented, nothing is sent. A tool that declares no credential goes straight through.
import type { CredentialNeed, Credentials, Presented, ShownBefore } from '../credential/credential.ts'
import type { JsonObject } from '../util/json.ts'
import { abortRefusal } from './abort-refusal.ts'
import { ifRejected, needOf, notPresentedRefusal } from './credential-need.ts'
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
    handle?: JsonObject,
  ): Promise<Reply> {
    const result = await credentials.present(need, send.abort, shownBefore(handle, send))
    const { reason } = send.abort
    if (reason !== undefined) return abortRefusal(reason, false, send)
    if (!result.ok) return notPresentedRefusal(result.refusal)
    const shown = result.presented
    if (send.credentialVersion !== undefined && send.credentialVersion !== shown.version) return rotated()
    const kept = attach !== undefined && send.detach ? await keepingShown(send, shown, sink) : sink
    const clean = redactSink(kept, shown.redactor)
    try {
      const reply = await run({ ...send, credentials: shown }, clean)
      clean.flush()
      return redactReply(ifRejected(reply, send, shown), shown.redactor)
    } catch (error) {
      throw cleanError(error, shown)
    }
  }

  /** Work that is taken on has with it what was shown for it: its end may come to a process that has never seen that. */
  async function keepingShown(send: Send, shown: Presented, sink: AttemptSink): Promise<AttemptSink> {
    const note = await shown.note?.(send)
    if (note === undefined) return sink
    return {
      sending: () => sink.sending(),
      accepted: (handle) => sink.accepted({ ...handle, [SHOWN]: note }),
      progress: (fact) => sink.progress(fact),
      chunk: (part) => sink.chunk(part),
      late: (reply) => sink.late(reply),
    }
  }

  return {
    type: transport.type,
    attempt(send, sink) {
      const need = needOf(send.tool, send.constraints?.scopes)
      if (need === undefined) return transport.attempt(send, sink)
      return presented(send, need, sink, (one, clean) => transport.attempt(one, clean))
    },
    ...(attach === undefined
      ? {}
      : {
          async attach(handle, send, sink) {
            const need = needOf(send.tool, send.constraints?.scopes)
            const ask = attach.bind(transport, handle)
            if (need === undefined) return ask(send, sink)
            let said: Reply | undefined
            const heard: typeof ask = async (one, clean) => {
              said = await ask(one, clean)
              return said
            }
            return stillAsked(await presented(send, need, sink, heard, handle), said)
          },
        }),
    ...(transport.reports === undefined ? {} : { reports: transport.reports }),
    ...(receive === undefined
      ? {}
      : {
          async receive(body, send, handle) {
            const need = needOf(send.tool, send.constraints?.scopes)
            if (need === undefined) return receive.call(transport, body, send)
            const result = await credentials.present(need, send.abort, shownBefore(handle, send))
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

/** Of a handle. */
const SHOWN = 'shown'

/** The word with the handle is newer than that with the intent: a token may have been renewed since. */
function shownBefore(
  handle: JsonObject | undefined,
  { namespace, key, shown }: Send,
): readonly ShownBefore[] {
  const note = handle?.[SHOWN]
  return [
    ...(typeof note === 'string' ? [{ namespace, key, note }] : []),
    ...(shown === undefined ? [] : [{ namespace, ...shown }]),
  ]
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

/**
 * Work that was taken on is asked for again where the credential was in the way: that says nothing about its end. What the
 * tool itself gives as the end of its work is one, whatever it was.
 */
function stillAsked(reply: Reply, said: Reply | undefined): Reply {
  if (reply.kind !== 'failure' || !IN_THE_WAY.has(reply.failure)) return reply
  if (said?.kind === 'failure' && said.failure === reply.failure && said.failure !== 'egress-denied')
    return reply
  return { kind: 'accepted', pollInMs: ASK_AGAIN_MS, missed: reply.failure }
}

const IN_THE_WAY: ReadonlySet<Refusal['failure']> = new Set([
  'secret-missing',
  'secret-out-of-scope',
  'token-exchange-failed',
  'token-expired',
  // A transport that asks for accepted work has no such end of its own.
  'egress-denied',
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
