// Tools that speak the contract: an envelope of their dialect goes out, and an envelope must come back.

import { createDialects } from '../contract/dialect/registry.ts'
import { CONTRACT_VERSION } from '../contract/version.ts'
import { parseStrictJson } from '../util/strict-json.ts'
import { envelopeReply } from './envelope-reply.ts'
import { type Answered, createPost } from './http-post.ts'
import { errorStatusReply, expectedBy } from './http-reply.ts'
import { flawRefusal, isSuccessStatus } from './http-status.ts'
import { toolRequestOf } from './tool-request.ts'
import type { Reply, Send, Transport, TransportOptions } from './transport.ts'

const HEADERS = ['x-tool-contract-version', CONTRACT_VERSION] as const

export function createExternalTransport(options: TransportOptions): Transport {
  const post = createPost(options)
  const dialects = options.dialects ?? createDialects()
  const { clock } = options.world

  function read(answered: Answered, send: Send): Reply {
    const expected = expectedBy(send, false)
    const { status, flaw, body } = answered
    if (!isSuccessStatus(status)) return errorStatusReply(answered, send, dialects, expected, clock.now())
    if (flaw !== undefined) return flawRefusal(flaw, status, send)
    const parsed = parseStrictJson(body)
    const reply = parsed.ok
      ? dialects.decodeReply(parsed.value, expected)
      : { kind: 'malformed' as const, violations: parsed.violations }
    return envelopeReply(reply, body.length, send.operation, { httpStatus: status })
  }

  return {
    type: 'external',
    async attempt(send, sink) {
      const envelope = dialects.get(send.tool.contract).encodeSend(toolRequestOf(send))
      const answered = await post(send, sink, {
        text: JSON.stringify(envelope),
        contentType: 'application/json',
        headers: HEADERS,
      })
      return answered.kind === 'failure' ? answered : read(answered, send)
    },
    // The connections belong to the World.
    close: () => Promise.resolve(),
  }
}
