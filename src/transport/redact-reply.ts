// Takes the secrets of a send out of everything that its tool says about it.
import type { Redactor } from '../credential/credential.ts'
import type { AttemptSink, FinalReply, Reply, Success } from './transport.ts'

export function redactReply(reply: Reply, redactor: Redactor): Reply {
  if (redactor.empty) return reply
  if (reply.kind === 'accepted')
    return reply.missed === undefined ? reply : { ...reply, missed: redactor.text(reply.missed) }
  const said: FinalReply = {
    ...reply,
    ...(reply.warnings === undefined ? {} : { warnings: reply.warnings.map(redactor.text) }),
    ...(reply.sideEffects === undefined
      ? {}
      : { sideEffects: reply.sideEffects.map((one) => redactor.json(one)) }),
  }
  if (said.kind === 'success') return redactSuccess(said, redactor)
  return {
    ...said,
    ...(said.message === undefined ? {} : { message: redactor.text(said.message) }),
    ...(said.fix === undefined ? {} : { fix: redactor.text(said.fix) }),
    ...(said.details === undefined ? {} : { details: redactor.json(said.details) }),
  }
}

/** A token for the commit goes back to the tool as it is, so it cannot be changed; and what is kept holds no secret. */
function redactSuccess(said: Success, redactor: Redactor): FinalReply {
  const { commitToken } = said
  if (commitToken !== undefined && redactor.text(commitToken) !== commitToken) {
    return {
      kind: 'failure',
      failure: 'reply-malformed',
      message: 'the commit token of the tool holds the credential that it was shown; it is not kept',
      definite: false,
    }
  }
  return { ...said, output: redactor.json(said.output) }
}

export interface RedactingSink extends AttemptSink {
  /** Gives out what was held back as the possible start of a secret. */
  flush(): void
}

/** Texts that come in pieces are one stream: a secret that is split between two of them is found. */
export function redactSink(sink: AttemptSink, redactor: Redactor): RedactingSink {
  let stream: ReturnType<Redactor['stream']> | undefined
  const flush = () => {
    const rest = stream?.end() ?? ''
    stream = undefined
    if (rest !== '') sink.chunk(rest)
  }
  return {
    sending: () => sink.sending(),
    accepted: (handle) => sink.accepted(redactor.json(handle)),
    progress: (fact) => sink.progress(redactor.json(fact)),
    chunk(part) {
      if (typeof part !== 'string') {
        flush()
        sink.chunk(redactor.json(part))
        return
      }
      stream ??= redactor.stream()
      const clean = stream.push(part)
      if (clean !== '') sink.chunk(clean)
    },
    late: (reply) => sink.late(redactReply(reply, redactor)),
    flush,
  }
}
