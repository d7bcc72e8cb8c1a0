// Tools that speak the contract: an envelope of their dialect goes out, and an envelope must come back.

import type { ToolRequest } from '../contract/dialect/dialect.ts'
import { createDialects } from '../contract/dialect/registry.ts'
import { CONTRACT_VERSION } from '../contract/version.ts'
import { narrowAllowlist } from '../resource/net-allowlist.ts'
import { parseStrictJson } from '../util/strict-json.ts'
import { envelopeReply } from './envelope-reply.ts'
import { type Answered, createPost } from './http-post.ts'
import { errorStatusReply, expectedBy } from './http-reply.ts'
import { flawRefusal, isSuccessStatus } from './http-status.ts'
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

/** Everything the caller's call carries goes along; the credential is only ever named. */
function toolRequestOf(send: Send): ToolRequest {
  const { tool, operation, constraints } = send
  const memoryMb = smaller(tool.limits.memoryMb, constraints?.memoryMb)
  const netAllowlist = narrowAllowlist(tool.netAllowlist, constraints?.netAllowlist)
  return {
    requestId: send.requestId,
    callId: send.callId,
    namespace: send.namespace,
    actor: send.actor,
    ...(send.taskId === undefined ? {} : { taskId: send.taskId }),
    ...(send.agent === undefined ? {} : { agent: send.agent }),
    tool: {
      name: tool.name,
      operation: operation.name,
      version: tool.version,
      digest: tool.digest,
      capabilities: tool.capabilities,
      riskLevel: tool.riskLevel,
    },
    ...(send.input === undefined ? {} : { input: send.input }),
    isolation: tool.isolation,
    timeoutMs: send.timeoutMs,
    deadlineUnixMs: send.deadlineUnixMs,
    attempt: send.attempt,
    key: send.key,
    trace: send.trace,
    ...(tool.auth === undefined
      ? {}
      : { auth: { profile: tool.auth.profile, secretRef: tool.auth.secretRef, scopes: tool.auth.scopes } }),
    ...(memoryMb === undefined ? {} : { memoryMb }),
    ...(netAllowlist === undefined ? {} : { netAllowlist }),
    ...(send.echo === undefined ? {} : { echo: send.echo }),
  }
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}
