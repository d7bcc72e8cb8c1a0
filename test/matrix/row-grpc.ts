// Tools over gRPC in the matrix of rows: a real service over node:http2, which can do what no library would.
import type { ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { frameOf } from '../../src/util/grpc-frame.ts'
import {
  answerRaw,
  answerStatus,
  type GrpcAsked,
  type GrpcPeer,
  listenGrpc,
  okEnvelope,
} from '../transport/grpc-peer.ts'
import { deadOrigin } from '../transport/tool-peer.ts'
import { listenMute } from './row-http.ts'
import {
  authOf,
  behaviourOf,
  document,
  envelopeOf,
  HANGS,
  nameOf,
  type RowKit,
  type RowSubject,
  specOf,
} from './row-subject.ts'
import type { Kind } from './row-table.ts'
import { inPieces, saidJson } from './row-voice.ts'

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

export async function openGrpcRows(kit: RowKit): Promise<RowSubject> {
  const ways = new Map<string, string>()
  const listen = () =>
    listenGrpc((stream, asked, session) => {
      const { name } = asked.envelope.tool as { name: string }
      respond(ways.get(name) ?? '', { stream, asked, session, said: kit.voice.words(name, asked.headers) })
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
      const spec = { ...specOf(way, kind), ...authOf(way, kind, kit), ...wire, type: 'grpc' }
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

interface Asking {
  readonly stream: ServerHttp2Stream
  readonly asked: GrpcAsked
  readonly session: ServerHttp2Session
  readonly said: readonly string[]
}

function respond(way: string, { stream, asked, session, said }: Asking) {
  const text = said.join(' ')
  const trailers = {
    'grpc-message': encodeURIComponent(text),
    'x-said': said[0] ?? '',
    'grpc-status-details-bin': Buffer.from(text).toString('base64'),
  }
  const status = GRPC_STATUSES[way]
  if (status !== undefined) return answerStatus(stream, status, trailers)
  const told = envelopeOf(way, String(asked.envelope.request_id), said)
  if (told !== undefined) return answerPieces(stream, told, trailers)
  switch (way) {
    case HANGS:
      return
    case CUT:
      stream.respond(HEAD)
      stream.write(frameOf(JSON.stringify(saidJson(said))).subarray(0, -2), () => session.destroy())
      return
    case 'output without end':
      return pour(stream, text)
    case 'no reply of its protocol':
      return answerRaw(stream, Buffer.from(text), undefined, {
        ':status': 200,
        'content-type': 'text/plain',
        'x-said': said[0] ?? '',
      })
    default: {
      const output = { n: way === 'output breaks its schema' ? 'no number' : 1, ...saidJson(said) }
      return answerPieces(stream, okEnvelope(asked, output), trailers)
    }
  }
}

function answerPieces(stream: ServerHttp2Stream, message: object, trailers: Record<string, string>): void {
  stream.respond({ ...HEAD, 'x-said': trailers['x-said'] }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', ...trailers }))
  for (const piece of inPieces(frameOf(JSON.stringify(message)).toString('latin1')))
    stream.write(piece, 'latin1')
  stream.end()
}

function pour(stream: ServerHttp2Stream, text: string): void {
  stream.respond(HEAD)
  const head = Buffer.alloc(5)
  head.writeUInt32BE(2 ** 31, 1)
  stream.write(head)
  const chunk = Buffer.alloc(0x4000, text)
  const more = () => {
    while (!stream.destroyed && !stream.closed && stream.write(chunk)) {
      // Until the buffer is full.
    }
  }
  stream.on('drain', more)
  more()
}
