// A service on loopback for tool peers that are reached over HTTP.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Json } from '../../util/json.ts'
import { parseStrictJson } from '../../util/strict-json.ts'
import { API_KEY_HEADER, CREDENTIAL_VARIABLE } from '../tools.ts'

export interface ServiceRequest {
  /** Without the leading slash. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** JSON, or the fields of a form. */
  readonly body: Json
  /** Aborted when the caller hangs up before the answer. */
  readonly signal: AbortSignal
}

export interface ServiceReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: Json
}

export interface Service {
  readonly origin: string
  close(): Promise<void>
}

/** Far more than any case sends. */
const MAX_BODY_BYTES = 1_048_576
const FORM = 'application/x-www-form-urlencoded'

export async function listen(answer: (request: ServiceRequest) => Promise<ServiceReply>): Promise<Service> {
  const server = createServer((request, response) => {
    const gone = new AbortController()
    response.on('close', () => {
      if (!response.writableFinished) gone.abort()
    })
    const reply = ({ status, headers, body }: ServiceReply) => {
      if (response.destroyed) return
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    }
    readBody(request)
      .then((body) =>
        body === undefined
          ? { status: 400, body: { message: 'the body is no JSON, or too large' } }
          : answer({
              path: (request.url ?? '').slice(1),
              headers: request.headers,
              body,
              signal: gone.signal,
            }),
      )
      .then(reply, (error: unknown) => reply({ status: 500, body: { message: String(error) } }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Undefined for a body that cannot be used. */
async function readBody(request: IncomingMessage): Promise<Json | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  if (size === 0) return null
  if (request.headers['content-type'] === FORM)
    return Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString()))
  const parsed = parseStrictJson(Buffer.concat(chunks))
  return parsed.ok ? parsed.value : undefined
}

/** The value of a header that is sent once. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

/** In which a program of ours says what it has found in its environment. */
export const SHOWN_HEADER = 'conformance-shown'

/** The credentials that came with a request. */
export function credentialsOf(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  const places = [
    ['authorization', 'authorization'],
    [API_KEY_HEADER.toLowerCase(), API_KEY_HEADER.toLowerCase()],
    [CREDENTIAL_VARIABLE, SHOWN_HEADER],
  ] as const
  return Object.fromEntries(
    places.map(([name, header]) => [name, headerOf(headers, header)]).filter(([, value]) => value !== ''),
  )
}

/** The trace id of a W3C traceparent. */
export function traceIdOf(headers: IncomingHttpHeaders): string {
  return headerOf(headers, 'traceparent').split('-')[1] ?? ''
}
