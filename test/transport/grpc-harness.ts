// A gRPC transport of a test, and one attempt at a service that answers as the test says.
import { after } from 'node:test'
import { createDialects } from '../../src/contract/dialect/registry.ts'
import type { ResolvedOperation, ResolvedTool } from '../../src/resource/resolved-tool.ts'
import { createGrpcTransport, type GrpcOptions } from '../../src/transport/grpc.ts'
import type { Refusal, Reply, Send, Transport } from '../../src/transport/transport.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { type GrpcPeer, type GrpcRespond, listenGrpc } from './grpc-peer.ts'
import { makeOperation, makeSend, makeSink, makeTool, type RecordingSink } from './send-fixture.ts'
import { refusal } from './transport-contract.ts'

const dialects = createDialects()

export function createGrpc(channels: GrpcOptions['channels'] = {}): Transport {
  const transport = createGrpcTransport({ world: createSystemWorld(), dialects, channels })
  after(() => transport.close())
  return transport
}

export function grpcTool(
  { address }: Pick<GrpcPeer, 'address'>,
  overrides: Partial<ResolvedTool> = {},
  operation: Partial<ResolvedOperation> = {},
): ResolvedTool {
  return makeTool(
    { type: 'grpc', endpoint: address, grpc: { plaintext: true }, ...overrides },
    makeOperation(operation),
  )
}

/** A read, which may be repeated. */
export function reading(): Partial<ResolvedOperation> {
  const base = makeOperation()
  return { effect: { ...base.effect, repeat: 'read' } }
}

export interface Attempted {
  readonly reply: Reply
  readonly sink: RecordingSink
  readonly peer: GrpcPeer
}

export async function attempt(
  respond: GrpcRespond,
  options: {
    readonly operation?: Partial<ResolvedOperation>
    readonly tool?: Partial<ResolvedTool>
    readonly send?: Partial<Send>
  } = {},
): Promise<Attempted> {
  const transport = createGrpcTransport({ world: createSystemWorld(), dialects })
  const peer = await listenGrpc(respond)
  const sink = makeSink()
  try {
    const tool = grpcTool(peer, options.tool, options.operation)
    const reply = await transport.attempt(makeSend(tool, { city: 'Brno' }, options.send), sink)
    return { reply, sink, peer }
  } finally {
    await transport.close()
    await peer.close()
  }
}

export async function refused(
  respond: GrpcRespond,
  options: Parameters<typeof attempt>[1] = {},
): Promise<Refusal> {
  return refusal((await attempt(respond, options)).reply)
}
