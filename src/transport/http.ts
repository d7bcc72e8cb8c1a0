// Tools that are plain HTTP services: the input is the body of a POST, the body of the reply is the output. Named
// operations have an address and a method of their own (S27).
import { createDialects } from '../contract/dialect/registry.ts'
import { WITH_BODY } from '../resource/named-url.ts'
import { envelopeReply } from './envelope-reply.ts'
import { readHttpOutput } from './http-output.ts'
import { type Answered, createPost, type PostBody } from './http-post.ts'
import { errorStatusReply, expectedBy } from './http-reply.ts'
import { flawRefusal, isSuccessStatus } from './http-status.ts'
import type { Reply, Send, Transport, TransportOptions } from './transport.ts'

const MAX_VIOLATIONS = 20

export function createHttpTransport(options: TransportOptions): Transport {
  const post = createPost(options)
  const dialects = options.dialects ?? createDialects()
  const { clock } = options.world

  function read(answered: Answered, send: Send): Reply {
    // A plain service was never told the request id, so it may leave it out; a wrong one is still wrong.
    const expected = expectedBy(send, true)
    const { status, flaw, body } = answered
    if (!isSuccessStatus(status)) return errorStatusReply(answered, send, dialects, expected, clock.now())
    if (flaw !== undefined) return flawRefusal(flaw, status, send)
    const result = readHttpOutput(answered)
    if (!result.ok) {
      return {
        kind: 'failure',
        failure: 'output-invalid',
        message: result.message,
        details: {
          http_status: status,
          violations: result.violations
            .slice(0, MAX_VIOLATIONS)
            .map(({ path, message }) => ({ path, message })),
        },
        definite: false,
      }
    }
    const { output } = result
    // A `status` in somebody's JSON makes no envelope.
    if (result.isJson && dialects.looksLikeEnvelope(output, expected)) {
      return envelopeReply(dialects.decodeReply(output, expected), body.length, send.operation, {
        httpStatus: status,
      })
    }
    return { kind: 'success', output, bytes: body.length }
  }

  return {
    type: 'http',
    async attempt(send, sink) {
      const answered = await post(send, sink, bodyOf(send))
      return answered.kind === 'failure' ? answered : read(answered, send)
    },
    // The connections belong to the World.
    close: () => Promise.resolve(),
  }
}

/**
 * Input is serialised anew, so that policy and tool read the same (S3). Text for an operation without a schema is the
 * raw input of seed 000 and goes out as it is; with a schema, a text is a JSON value like any other.
 */
function bodyOf(send: Send): PostBody {
  const { input, operation } = send
  if (operation.request !== undefined && !WITH_BODY.has(operation.request.method))
    return { text: null, contentType: '' }
  if (input === undefined) return { text: null, contentType: '' }
  if (typeof input === 'string' && operation.inputSchema === undefined) {
    return { text: input, contentType: 'text/plain; charset=utf-8' }
  }
  return { text: send.text ?? JSON.stringify(input), contentType: 'application/json' }
}
