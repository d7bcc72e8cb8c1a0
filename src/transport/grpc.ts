// Tools that are gRPC services: unary orloj.tool.v1.ToolService/Execute with envelopes as JSON messages.
//
// Over node:http2 itself: libraries send application/grpc or want a schema for each message, and none says when the
// first byte leaves, which is what decides whether a write may be sent again.
import { createDialects } from '../contract/dialect/registry.ts'
import { isRepeatHarmless } from '../contract/projection.ts'
import { EgressFailed } from '../egress/egress-failed.ts'
import { endpointUrl, outsideEgress } from '../resource/egress-rule.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import { abortRefusal } from './abort-refusal.ts'
import { refuse } from './endpoint.ts'
import { unaryCall } from './grpc-call.ts'
import { type ChannelOptions, createChannels } from './grpc-channel.ts'
import type { Channel, ChannelTarget } from './grpc-connection.ts'
import { decoded, isCompressed } from './grpc-encoding.ts'
import { metadataOf } from './grpc-metadata.ts'
import { readUnary, unreachedRefusal } from './grpc-reply.ts'
import { toolRequestOf } from './tool-request.ts'
import type { Refusal, Send, Transport, TransportOptions } from './transport.ts'

export interface GrpcOptions extends TransportOptions {
  readonly channels?: ChannelOptions
}

export function createGrpcTransport(options: GrpcOptions): Transport {
  const { clock } = options.world
  const dialects = options.dialects ?? createDialects()
  const userAgent = options.userAgent ?? 'writ'
  const channels = createChannels(options.world, options.channels)
  // A tool is frozen and pinned, so its endpoint is read once.
  const targets = new WeakMap<ResolvedTool, ChannelTarget | Refusal>()

  function targetOf(send: Send): ChannelTarget | Refusal {
    const { tool } = send
    let target = targets.get(tool)
    if (target === undefined) {
      target = readTarget(tool)
      targets.set(tool, target)
    }
    return 'url' in target ? (refusedNow(send, target) ?? target) : target
  }

  return {
    type: 'grpc',
    async attempt(send, sink) {
      const began = clock.monotonic()
      const target = targetOf(send)
      if (!('url' in target)) return target
      const metadata = metadataOf(send, userAgent)
      if (typeof metadata !== 'function') return metadata
      const text = JSON.stringify(dialects.get(send.tool.contract).encodeSend(toolRequestOf(send)))
      let channel: Channel | undefined
      try {
        channel = await channels.open(target, !isRepeatHarmless(send.operation.effect), send.abort)
      } catch (error) {
        if (error instanceof EgressFailed) return unreachedRefusal(error)
        throw error
      }
      if (channel === undefined) return abortRefusal(send.abort.reason ?? 'timeout', false, send)
      try {
        const request = {
          headers: metadata(target.url, send.timeoutMs - (clock.monotonic() - began)),
          text,
          maxBytes: send.tool.limits.outputBytes,
        }
        const end = await unaryCall(channel, request, send.abort, () => sink.sending())
        const read = isCompressed(end) ? await decoded(end, request.maxBytes) : end
        return readUnary(read, send, dialects, clock.now())
      } finally {
        channel.release()
      }
    },
    close: () => channels.close(),
  }
}

/** Where a tool is, or why nothing can be sent to it. */
function readTarget(tool: ResolvedTool): ChannelTarget | Refusal {
  if (tool.isolation !== 'none' && tool.isolation !== 'sandboxed') {
    const why = `isolation ${tool.isolation} cannot be provided for a tool of type grpc here`
    return refuse('isolation-unavailable', 'spec.runtime.isolation_mode', why).refusal
  }
  const url = endpointUrl('grpc', tool.endpoint, tool.grpc?.plaintext)
  if (url === null || url.username !== '' || url.password !== '' || !/^https?:$/.test(url.protocol)) {
    const why = 'the endpoint is not an address that can be called, such as host:port'
    return refuse('config-invalid', 'spec.endpoint', why).refusal
  }
  if (url.protocol !== 'https:' && tool.grpc?.plaintext !== true) {
    const why = 'the endpoint is without TLS, and the tool does not declare grpc.plaintext'
    return refuse('config-invalid', 'spec.endpoint', why).refusal
  }
  const outside = outsideEgress({ ...tool, own: url }, url)
  if (outside !== undefined)
    return refuse('egress-denied', 'spec.endpoint', `${url.origin} ${outside}`).refusal
  return { url, reach: tool.reach, pool: `${tool.reach} ${url.origin}` }
}

/** What stands against this send, though the tool may be called in general. */
function refusedNow(send: Send, { url }: ChannelTarget): Refusal | undefined {
  const { tool, operation, constraints, credentials } = send
  if (operation.request !== undefined) {
    const why = 'an operation with an address of its own is asked over HTTP, which a tool of type grpc is not'
    return refuse('config-invalid', 'spec.effect', `${why}: name an operation of the tool instead`).refusal
  }
  if (tool.auth !== undefined && credentials === undefined) {
    const why = `nothing is sent without the declared credential (profile ${tool.auth.profile})`
    return refuse('secret-missing', 'spec.auth', why).refusal
  }
  if (constraints?.netAllowlist === undefined) return undefined
  const outside = outsideEgress({ ...tool, own: url }, url, constraints.netAllowlist)
  if (outside === undefined) return undefined
  return refuse('egress-denied', 'spec.endpoint', `${url.origin} ${outside}`).refusal
}
