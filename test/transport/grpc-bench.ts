// The gRPC transport with real services at its other end.
import { createDialects } from '../../src/contract/dialect/registry.ts'
import { createGrpcTransport } from '../../src/transport/grpc.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { frameOf } from '../../src/util/grpc-frame.ts'
import {
  answerMessage,
  answerRaw,
  answerStatus,
  type GrpcAsked,
  listenGrpc,
  okEnvelope,
} from './grpc-peer.ts'
import { makeTool } from './send-fixture.ts'
import { deadOrigin } from './tool-peer.ts'
import { type Behaviour, HARMLESS, type TransportUnderTest } from './transport-contract.ts'

/** Compiled once: a bench is opened for every case. */
const dialects = createDialects()

export const grpcUnderTest: TransportUnderTest = {
  name: 'grpc',
  without: {},
  async open() {
    const transport = createGrpcTransport({ world: createSystemWorld(), dialects })
    const peer = await listenGrpc((stream, asked, session) => {
      const behaviour = String((asked.envelope.tool as { name: string }).name) as Behaviour
      const output = okEnvelope(asked, asked.envelope.input ?? null)
      switch (behaviour) {
        case 'hang':
          return
        case 'hang-mid-body':
          stream.respond({ ':status': 200, 'content-type': 'application/grpc+json' })
          stream.write(frameOf('{"a":1}').subarray(0, 8))
          return
        case 'cut-mid-body':
          stream.respond({ ':status': 200, 'content-type': 'application/grpc+json' })
          stream.write(frameOf('{"a":1}').subarray(0, 8), () => session.destroy())
          return
        case 'huge': {
          stream.respond({ ':status': 200, 'content-type': 'application/grpc+json' })
          const head = Buffer.alloc(5)
          head.writeUInt32BE(2 ** 31, 1)
          stream.write(head)
          const chunk = Buffer.alloc(0x4000, 'x')
          const more = () => {
            while (!stream.destroyed && !stream.closed && stream.write(chunk)) {
              // Until the buffer is full.
            }
          }
          stream.on('drain', more)
          return more()
        }
        case 'invalid-output':
          return answerRaw(stream, frameOf('{"cut": [1, 2'), { 'grpc-status': '0' })
        case 'reject':
          return answerStatus(stream, 3, { 'grpc-message': 'it is not valid' })
        case 'fail':
          return answerStatus(stream, 13, { 'grpc-message': 'the password is hunter2' })
        case 'fail-harmless':
          return answerMessage(stream, harmless(asked))
        case 'delay':
          return void setTimeout(() => answerMessage(stream, output), 50)
        default:
          return answerMessage(stream, output)
      }
    })
    const dead = new URL(await deadOrigin()).host
    return {
      transport,
      get seen() {
        return peer.asked.map(({ headers, envelope }) => ({
          input: envelope.input,
          key: String(headers['idempotency-key']),
          attempt: Number(headers['writ-attempt']),
        }))
      },
      touched: () => peer.streams() > 0,
      tool: (behaviour, overrides) =>
        makeTool({
          type: 'grpc',
          name: behaviour,
          endpoint: behaviour === 'refuse' ? dead : peer.address,
          grpc: { plaintext: true },
          ...overrides,
        }),
      arrived: (count) => peer.arrived(count),
      async close() {
        await transport.close()
        await peer.close()
      },
    }
  },
}

function harmless({ envelope }: GrpcAsked) {
  return {
    request_id: envelope.request_id ?? '',
    ...HARMLESS,
  }
}
