// One send of the http transport to a server that answers as a test says.
import { after } from 'node:test'
import { createDialects } from '../../src/contract/dialect/registry.ts'
import { createNetwork } from '../../src/egress/network.ts'
import type { ResolvedOperation, ResolvedTool } from '../../src/resource/resolved-tool.ts'
import { createHttpTransport } from '../../src/transport/http.ts'
import type { Reply, Send, Transport } from '../../src/transport/transport.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { Json } from '../../src/util/json.ts'
import { makeOperation, makeSend, makeSink, makeTool } from './send-fixture.ts'
import { listenHttp, type Received, type Respond } from './tool-peer.ts'

const network = createNetwork()
export const world = createSystemWorld({ network })
export const dialects = createDialects()
export const http = createHttpTransport({ world, dialects, userAgent: 'writ/9.9.9' })
after(() => network.destroy())

/** The reply to one send, and the request that the server got. */
export async function attempt(
  respond: Respond,
  options: {
    input?: Json
    tool?: Partial<ResolvedTool>
    operation?: Partial<ResolvedOperation>
    send?: Partial<Send>
    via?: Transport
  } = {},
): Promise<{ reply: Reply; request: Received }> {
  const peer = await listenHttp(respond)
  try {
    const operation = makeOperation(options.operation)
    const tool = makeTool({ endpoint: `${peer.origin}/run?mode=fast#part`, ...options.tool }, operation)
    const reply = await (options.via ?? http).attempt(makeSend(tool, options.input, options.send), makeSink())
    return { reply, request: peer.received[0] as Received }
  } finally {
    await peer.close()
  }
}

export const body =
  (text: string | Buffer, type?: string, status = 200): Respond =>
  (_request, response) =>
    response.writeHead(status, type === undefined ? {} : { 'content-type': type }).end(text)
