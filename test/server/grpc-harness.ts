// A server that takes calls over gRPC, and a caller that can say anything.
import {
  type ClientHttp2Session,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { createGrpcServer, type GrpcServerOptions, type Server } from '../../src/server/index.ts'
import { frameOf } from '../../src/util/grpc-frame.ts'
import { type Harness, startHarness, TOKEN } from './harness.ts'

export const PATH = '/orloj.tool.v1.ToolService/Execute'

export interface GrpcReply {
  readonly http: number
  readonly headers: IncomingHttpHeaders
  /** undefined where there was none. */
  readonly status: number | undefined
  readonly message: string
  // biome-ignore lint/suspicious/noExplicitAny: what a body holds is the question of each test
  readonly body: any
}

export interface GrpcAsk {
  readonly headers?: OutgoingHttpHeaders
  /** null sends none. @default the admin's */
  readonly token?: string | null
  /** In place of one message. */
  readonly bytes?: Uint8Array
  /** Hands over the stream, to break it. */
  readonly onStream?: (cancel: () => void) => void
}

export interface GrpcHarness {
  readonly harness: Harness
  readonly grpc: Server
  readonly address: string
  readonly session: ClientHttp2Session
  send(envelope: unknown, ask?: GrpcAsk): Promise<GrpcReply>
  close(): Promise<void>
}

export async function startGrpcHarness(options: Partial<GrpcServerOptions> = {}): Promise<GrpcHarness> {
  let own: Omit<GrpcServerOptions, 'host' | 'port'> | undefined
  const harness = await startHarness({}, (common) => {
    own = common
  })
  if (own === undefined) throw new Error('the harness has no options')
  const grpc = createGrpcServer({ ...own, host: '127.0.0.1', port: 0, ...options })
  const { url } = await grpc.listen()
  const session = connect(url)
  session.on('error', () => {})
  return {
    harness,
    grpc,
    address: new URL(url).host,
    session,
    send(envelope, { headers = {}, token = TOKEN, bytes, onStream } = {}) {
      return new Promise((resolve, reject) => {
        const stream = session.request({
          ':method': 'POST',
          ':path': PATH,
          'content-type': 'application/grpc+json',
          te: 'trailers',
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        })
        let head: IncomingHttpHeaders = {}
        let tail: IncomingHttpHeaders = {}
        const chunks: Buffer[] = []
        stream.on('response', (came) => {
          head = came
        })
        stream.on('trailers', (came) => {
          tail = came
        })
        stream.on('data', (chunk: Buffer) => chunks.push(chunk))
        stream.on('error', reject)
        stream.on('close', () => {
          const words = { ...head, ...tail }
          const body = Buffer.concat(chunks)
          resolve({
            http: Number(head[':status']),
            headers: head,
            status: words['grpc-status'] === undefined ? undefined : Number(words['grpc-status']),
            message: decodeURIComponent(String(words['grpc-message'] ?? '')),
            body: body.length > 5 && body[5] === 0x7b ? JSON.parse(body.subarray(5).toString()) : body,
          })
        })
        onStream?.(() => stream.close(8))
        stream.end(bytes ?? frameOf(JSON.stringify(envelope)))
      })
    },
    async close() {
      session.destroy()
      await grpc.close()
      await harness.close()
    },
  }
}
