// A service of type external that is honest, but for what a test changes of it.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A v1 request, as the service reads it. */
export interface Asked {
  readonly request_id: string
  readonly tool: { readonly operation: string }
  readonly input: Readonly<Record<string, unknown>>
  readonly idempotency_key: string
  readonly runtime: { readonly timeout_ms: number }
}

export type Reply = Record<string, unknown>

/** What is answered in place of the honest reply: another one, text as it is, or nothing, ever. */
export type Twist = (asked: Asked, honest: () => Promise<Reply>) => Promise<Reply | string | 'nothing'>

export interface TestService {
  readonly url: string
  close(): Promise<void>
}

export async function startService(twist: Twist = (_asked, honest) => honest()): Promise<TestService> {
  const counts = new Map<string, number>()
  const server = createServer(async (request, response) => {
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const asked = JSON.parse(Buffer.concat(chunks).toString()) as Asked
    const reply = await twist(asked, () => answer(asked, counts, gone.signal))
    if (reply === 'nothing' || response.destroyed) return
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(typeof reply === 'string' ? reply : JSON.stringify(reply))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function answer(asked: Asked, counts: Map<string, number>, gone: AbortSignal): Promise<Reply> {
  const { input } = asked
  switch (asked.tool.operation) {
    case 'echo':
      return ok(asked, input)
    case 'sleep':
      await sleep(Number(input.ms), gone)
      return ok(asked, { slept_ms: input.ms })
    case 'fail':
      return failed(asked, String(input.code), input.retryable === true, String(input.message ?? 'failed'))
    case 'count':
      counts.set(asked.idempotency_key, 1)
      return ok(asked, { count: counts.get(asked.idempotency_key) })
    default:
      return unsupported(asked)
  }
}

function sleep(ms: number, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    gone.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

export function ok(asked: Asked, output: unknown): Reply {
  return { tool_contract_version: 'v1', request_id: asked.request_id, status: 'ok', output }
}

export function failed(asked: Asked, code: string, retryable: unknown, message = 'failed'): Reply {
  const error = { code, reason: 'tool_backend_failure', retryable, message, details: {} }
  return { tool_contract_version: 'v1', request_id: asked.request_id, status: 'error', error }
}

export function unsupported(asked: Asked): Reply {
  return failed(asked, 'unsupported_tool', false, 'no such operation')
}
