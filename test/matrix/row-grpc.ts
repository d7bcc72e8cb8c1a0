// Tools over gRPC in the matrix of rows: a real service over node:http2, which can do what no library would.
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { frameOf } from '../../src/util/grpc-frame.ts'
import type { Json } from '../../src/util/json.ts'
import {
  answerMessage,
  answerRaw,
  answerStatus,
  type GrpcAsked,
  type GrpcPeer,
  listenGrpc,
  okEnvelope,
} from '../transport/grpc-peer.ts'
import { deadOrigin, type Peer } from '../transport/tool-peer.ts'
import { listenMute } from './row-http.ts'
import {
  authOf,
  behaviourOf,
  document,
  envelopeOf,
  HANGS,
  nameOf,
  type RowSubject,
  specOf,
} from './row-subject.ts'
import type { Kind } from './row-table.ts'

/** The status that a way is, if it is one. */
const GRPC_STATUSES: Readonly<Record<string, number>> = {
  unauthorized: 16,
  'fresh token is refused, too': 16,
  forbidden: 7,
  rejected: 3,
  conflict: 10,
  throttled: 8,
  fault: 13,
}

const CUT = 'cut in the reply'
const HEAD = { ':status': 200, 'content-type': 'application/grpc+json' } as const

export async function openGrpcRows(tokens: Peer): Promise<RowSubject> {
  const ways = new Map<string, string>()
  const listen = () =>
    listenGrpc((stream, asked, session) => {
      const { name } = asked.envelope.tool as { name: string }
      respond(ways.get(name) ?? '', stream, asked, session)
    })
  const peer = await listen()
  // Calls share a connection: one that is cut would take the others with it.
  const cut: Readonly<Record<Kind, GrpcPeer>> = { read: await listen(), write: await listen() }
  const mute = await listenMute()
  const dead = new URL(await deadOrigin()).host

  return {
    documents(way, kind) {
      const name = nameOf(way, kind)
      ways.set(name, behaviourOf(way))
      const { address } = way === CUT ? cut[kind] : peer
      const endpoint = way === 'no connection' ? dead : address
      const wire =
        way === 'handshake without end' ? { endpoint: mute.address } : { endpoint, grpc: { plaintext: true } }
      const spec = { ...specOf(way, kind), ...authOf(way, tokens), ...wire, type: 'grpc' }
      return [document('Tool', name, spec)]
    },
    toolOf: nameOf,
    // Names are looked up by the system here, so there is none that a test could let stand for a private address.
    constraintsOf: (way) => (way === 'address out of reach' ? { netAllowlist: [] } : undefined),
    async close() {
      await Promise.all([peer, cut.read, cut.write, mute].map((one) => one.close()))
    },
  }
}

function respond(way: string, stream: ServerHttp2Stream, asked: GrpcAsked, session: ServerHttp2Session) {
  const status = GRPC_STATUSES[way]
  if (status !== undefined) return answerStatus(stream, status, { 'grpc-message': 'it says' })
  const told = envelopeOf(way, String(asked.envelope.request_id))
  if (told !== undefined) return answerMessage(stream, told)
  switch (way) {
    case HANGS:
      return
    case CUT:
      stream.respond(HEAD)
      stream.write(frameOf('{"a":1}').subarray(0, 8), () => session.destroy())
      return
    case 'output without end':
      return pour(stream)
    case 'no reply of its protocol':
      return answerRaw(stream, Buffer.from('greetings'), undefined, {
        ':status': 200,
        'content-type': 'text/plain',
      })
    default: {
      const output: Json = { n: way === 'output breaks its schema' ? 'no number' : 1 }
      return answerMessage(stream, okEnvelope(asked, output))
    }
  }
}

function pour(stream: ServerHttp2Stream): void {
  stream.respond(HEAD)
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
  more()
}
