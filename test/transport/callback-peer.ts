// A tool of long work on loopback: it takes every request on, and ends when a test says so: when asked, or by itself.
import { createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { listenHttp, type Received, sendJson } from './tool-peer.ts'

export interface Job {
  readonly request: JsonObject
  readonly callback: { readonly url: string; readonly token: string } | undefined
  /** Set when it has ended. */
  reply: JsonObject | undefined
  polls: number
}

export interface Pushed {
  readonly status: number
  readonly body: JsonObject
}

export interface CallbackPeer {
  readonly url: string
  readonly jobs: Map<string, Job>
  readonly received: readonly Received[]
  /** Of all times. */
  connections(): number
  arrived(count: number): Promise<void>
  /** Answers requests or questions in another way; false leaves it to the peer. */
  answer: ((request: Received, response: ServerResponse, job: Job | undefined) => boolean) | undefined
  /** The work of this request has ended: whoever asks is told. */
  end(requestId: string, output: Json): void
  /** The same, with an error of the contract. */
  fail(requestId: string, error: JsonObject, extra?: JsonObject): void
  /** Reports by itself, signed; `change` spoils it. */
  push(requestId: string, body?: Json, change?: PushChange): Promise<Pushed>
  close(): Promise<void>
}

export interface PushChange {
  readonly url?: string
  readonly token?: string
  /** Seconds. */
  readonly time?: number | string
  readonly signature?: string
  readonly raw?: string
  readonly headers?: Record<string, string>
}

export function envelopeOf(requestId: string, output: Json): JsonObject {
  return { tool_contract_version: 'v1', request_id: requestId, status: 'ok', output }
}

export async function startCallbackPeer(): Promise<CallbackPeer> {
  const jobs = new Map<string, Job>()
  const http = await listenHttp((request, response) => {
    const id = decodeURIComponent(request.path.split('/').at(-1) ?? '')
    const job = request.method === 'GET' ? jobs.get(id) : take(request)
    if (job !== undefined && request.method === 'GET') job.polls++
    if (peer.answer?.(request, response, job)) return
    if (request.method !== 'GET') sendJson(response, { status: 'pending' }, 202)
    else if (job === undefined) sendJson(response, { message: 'no such work' }, 404)
    else if (job.reply === undefined) response.writeHead(204).end()
    else sendJson(response, job.reply)
  })

  function take({ body }: Received): Job {
    const request = JSON.parse(body) as JsonObject
    const { callback } = request as unknown as Job
    const job: Job = { request, callback, reply: undefined, polls: 0 }
    jobs.set(String(request.request_id), job)
    return job
  }

  function jobOf(requestId: string): Job {
    const job = jobs.get(requestId)
    if (job === undefined) throw new Error(`no work for ${requestId}`)
    return job
  }

  const peer: CallbackPeer = {
    url: `${http.origin}/work`,
    jobs,
    received: http.received,
    connections: http.connections,
    arrived: http.arrived,
    answer: undefined,
    end(requestId, output) {
      jobOf(requestId).reply = envelopeOf(requestId, output)
    },
    fail(requestId, error, extra = {}) {
      jobOf(requestId).reply = { request_id: requestId, status: 'error', error, ...extra }
    },
    async push(requestId, body = jobOf(requestId).reply ?? null, change = {}) {
      const { callback } = jobOf(requestId)
      const url = change.url ?? callback?.url
      if (url === undefined) throw new Error('the tool was told no address')
      const text = change.raw ?? JSON.stringify(body)
      const time = String(change.time ?? Math.floor(Date.now() / 1000))
      const token = change.token ?? callback?.token ?? ''
      const mac = createHmac('sha256', token).update(`${time}.${text}`).digest('hex')
      const answer = await fetch(url, {
        method: 'POST',
        body: text,
        headers: {
          'content-type': 'application/json',
          'writ-timestamp': time,
          'writ-signature': change.signature ?? `v1=${mac}`,
          connection: 'close',
          ...change.headers,
        },
      })
      return { status: answer.status, body: (await answer.json()) as JsonObject }
    },
    close: http.close,
  }
  return peer
}
