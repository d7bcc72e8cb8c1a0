// An HTTP server that hands on what it is asked, whole, to whoever knows the answer: the real server, or a recording.
import { once } from 'node:events'
import { createServer, request as sendPlain } from 'node:http'
import { request as sendTls } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type Answer, type Exchange, headersOf, type Request } from './recording.ts'

export interface ExchangeServer {
  readonly url: string
  close(): void
}

async function startExchangeServer(answer: (asked: Request) => Promise<Answer>): Promise<ExchangeServer> {
  const server = createServer(async (incoming, response) => {
    const body = await text(incoming)
    const { method = '', url: path = '', headers } = incoming
    try {
      const said = await answer({ method, path, headers: headersOf(headers), body })
      response.writeHead(said.status, said.headers).end(said.body)
    } catch (error) {
      response.writeHead(502).end(String(error))
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** Passes everything on to the real server, and keeps both sides. */
export async function startRecorder(
  target: string,
  ca?: string,
): Promise<ExchangeServer & { taken(): readonly Exchange[] }> {
  let exchanges: Exchange[] = []
  const server = await startExchangeServer(async (request) => {
    const answer = await forward(request, target, ca)
    exchanges.push({ request, answer })
    return answer
  })
  return {
    ...server,
    taken() {
      const all = exchanges
      exchanges = []
      return all
    },
  }
}

async function forward(
  { method, path, headers, body }: Request,
  target: string,
  ca?: string,
): Promise<Answer> {
  const send = target.startsWith('https:') ? sendTls : sendPlain
  const sent = send(new URL(path, target), { method, headers, ...(ca === undefined ? {} : { ca }) })
  sent.end(body)
  const [reply] = await once(sent, 'response')
  return { status: reply.statusCode, headers: headersOf(reply.headers), body: await text(reply) }
}

/** Gives the recorded answers in their order, each only to the very request that it was recorded for. */
export async function startReplay(
  exchanges: readonly Exchange[],
): Promise<ExchangeServer & { readonly differences: readonly string[]; left(): number }> {
  const left = [...exchanges]
  const differences: string[] = []
  const server = await startExchangeServer(async (asked) => {
    const next = left.shift()
    const [is, was] = [asked, next?.request].map((one) => JSON.stringify(one, null, 2))
    if (next !== undefined && is === was) return next.answer
    differences.push(`sent:\n${is}\nrecorded:\n${was ?? 'nothing more'}`)
    return { status: 599, headers: {}, body: '' }
  })
  return { ...server, differences, left: () => left.length }
}
