// Tools that take their time: an envelope goes out, the tool takes the work on, and its end is asked for or reported.
//
// Where whoever sends keeps handles, an attempt ends as soon as the work is taken on, and nothing is held meanwhile: no
// socket, no timer. Each later question is one request.
import { createDialects } from '../contract/dialect/registry.ts'
import { CONTRACT_VERSION } from '../contract/version.ts'
import { createRedactor } from '../credential/redactor.ts'
import { Abort } from '../util/abort.ts'
import type { JsonObject } from '../util/json.ts'
import { isUuid } from '../util/uuid.ts'
import { abortRefusal } from './abort-refusal.ts'
import { pollMsOf, readPolled, readReported, readSubmitted } from './callback-reply.ts'
import { isDotSegment } from './endpoint.ts'
import { createPost } from './http-post.ts'
import { redactReply } from './redact-reply.ts'
import { spacedPoll } from './spaced-poll.ts'
import { toolRequestOf } from './tool-request.ts'
import type { Accepted, AttemptSink, Reply, Send, Transport, TransportOptions } from './transport.ts'

/** One question may take this long. */
const ASK_MS = 10_000
const HEADERS = ['x-tool-contract-version', CONTRACT_VERSION] as const

/** A question has no effect: nobody has to know that it leaves. */
const UNHEARD: AttemptSink = { sending() {}, accepted() {}, progress() {}, chunk() {}, late() {} }

export function createWebhookCallbackTransport(options: TransportOptions): Transport {
  const post = createPost(options)
  const dialects = options.dialects ?? createDialects()
  const { world, callbacks } = options

  /** The token is for the tool alone: one that comes back, in whatever form, goes no further. */
  function withoutToken(reply: Reply, send: Send): Reply {
    if (reply.kind === 'accepted' || callbacks === undefined) return reply
    return redactReply(reply, createRedactor([callbacks.token(send)]))
  }

  async function ask(handle: JsonObject, send: Send, sink: AttemptSink): Promise<Reply> {
    const about = aboutHandle(handle, send)
    const below = idAtTool(about)
    // No address has such a segment: the tool has to report by itself.
    if (isDotSegment(below)) return { kind: 'accepted', pollInMs: pollMsOf(send), missed: 'config-invalid' }
    const abort = new Abort()
    const late = world.after(Math.min(ASK_MS, send.timeoutMs), () => abort.abort('timeout'))
    const unlisten = send.abort.listen((reason) => abort.abort(reason))
    try {
      const request = { text: null, contentType: '', headers: HEADERS, below }
      const answered = await post({ ...about, abort }, sink, request)
      if (answered.kind === 'failure')
        return { kind: 'accepted', pollInMs: pollMsOf(send), missed: answered.failure }
      const acceptedAt = typeof handle.accepted_at === 'number' ? handle.accepted_at : 0
      const said = readPolled(answered, about, dialects, { now: world.clock.now(), acceptedAt })
      return withoutToken(said, about)
    } finally {
      late.cancel()
      unlisten()
    }
  }

  /** For those who keep no handles. */
  async function waitFor(handle: JsonObject, send: Send, first: Accepted): Promise<Reply> {
    let misses = 0
    for (let said: Reply = first; ; ) {
      if (said.kind !== 'accepted') return said
      misses = said.missed === undefined ? 0 : misses + 1
      await rest(spacedPoll(said, misses), send.abort)
      const { reason } = send.abort
      if (reason !== undefined) return abortRefusal(reason, true, send)
      said = await ask(handle, send, UNHEARD)
    }
  }

  function rest(ms: number, abort: Abort): Promise<void> {
    return new Promise((resolve) => {
      const timer = world.after(ms, () => {
        unlisten()
        resolve()
      })
      const unlisten = abort.listen(() => {
        timer.cancel()
        resolve()
      })
    })
  }

  return {
    type: 'webhook-callback',
    async attempt(send, sink) {
      const request = toolRequestOf(send)
      // Only where somebody keeps what the report is about.
      const callback = send.detach && callbacks && { url: callbacks.url(send), token: callbacks.token(send) }
      const envelope = dialects
        .get(send.tool.contract)
        .encodeSend(callback === undefined ? request : { ...request, callback })
      const answered = await post(send, sink, {
        text: JSON.stringify(envelope),
        contentType: 'application/json',
        headers: HEADERS,
      })
      if (answered.kind === 'failure') return answered
      const said = withoutToken(readSubmitted(answered, send, dialects, world.clock.now()), send)
      if (said.kind !== 'accepted') return said
      const handle = handleOf(send, world.clock.now())
      if (send.detach !== true) return waitFor(handle, send, said)
      sink.accepted(handle)
      return said
    },
    attach: ask,
    ...(callbacks === undefined ? {} : { reports: true }),
    receive: async (body, send) => withoutToken(readReported(body, send, dialects), send),
    // The connections belong to the World.
    close: () => Promise.resolve(),
  }
}

/** Which request it was is kept with it: another call may go on with the entry, under an id of its own. */
function handleOf({ requestId, callId }: Send, now: number): JsonObject {
  return { request_id: requestId, call_id: callId, accepted_at: now }
}

function aboutHandle(handle: JsonObject, send: Send): Send {
  const { request_id: requestId, call_id: callId } = handle
  if (typeof requestId !== 'string' || typeof callId !== 'string') return send
  return { ...send, requestId, callId }
}

/** As the tool was given it: four-outcome demands a UUID, and gets ours where the caller's is none (S6). */
function idAtTool({ tool, requestId, callId }: Send): string {
  return tool.contract === 'four-outcome' && !isUuid(requestId) ? callId : requestId
}
