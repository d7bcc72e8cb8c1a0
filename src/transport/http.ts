// Tools that are plain HTTP services: the input is the body of a request or its query, the body of the reply is the
// output. Named operations have an address and a method of their own (S27).
import { createDialects } from '../contract/dialect/registry.ts'
import { envelopeReply } from './envelope-reply.ts'
import { httpBody } from './http-body.ts'
import { readHttpOutput } from './http-output.ts'
import { type Answered, createPost } from './http-post.ts'
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
      const body = httpBody(send)
      if ('kind' in body) return body
      const answered = await post(send, sink, body)
      return answered.kind === 'failure' ? answered : read(answered, send)
    },
    // The connections belong to the World.
    close: () => Promise.resolve(),
  }
}
