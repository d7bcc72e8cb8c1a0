// A service that speaks the tool contract itself: it sees who asks, for what task, with which key and attempt.
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Request {
  readonly request_id: string
  readonly tool: { readonly operation: string }
  readonly input: { readonly to: string; readonly amount: number }
  readonly idempotency_key: string
  readonly trace: object
  readonly attempt: number
}

/** Listens on a free port of this machine and says where. `transfers` is what really happened. */
export async function startBank(
  port = 0,
): Promise<{ readonly url: string; readonly transfers: Map<string, object>; stop(): Promise<void> }> {
  const transfers = new Map<string, object>()
  const server = createServer(async (incoming, response) => {
    const request = await readRequest(incoming)
    const answer = (rest: object) => {
      response.writeHead(200, { 'content-type': 'application/json', 'x-tool-contract-version': 'v1' })
      response.end(
        JSON.stringify({
          tool_contract_version: 'v1',
          request_id: request.request_id,
          trace: request.trace,
          usage: { duration_ms: 1, attempt: request.attempt },
          ...rest,
        }),
      )
    }
    const { to, amount } = request.input
    if (to === 'nobody') {
      const error = {
        code: 'invalid_input',
        reason: 'tool_invalid_input',
        retryable: false,
        message: 'no such account',
        details: {},
      }
      return answer({ status: 'error', error })
    }
    // The key makes a repeat harmless: the same transfer is answered, not made again.
    const transfer = transfers.get(request.idempotency_key) ?? { to, amount, number: transfers.size + 1 }
    transfers.set(request.idempotency_key, transfer)
    return answer({ status: 'ok', output: transfer })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve)
  })
  const { port: actual } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${actual}/`, transfers, stop: () => stop(server) }
}

async function readRequest(incoming: IncomingMessage): Promise<Request> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString()) as Request
}

function stop(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}

if (import.meta.main) console.log(`the bank listens on ${(await startBank(7502)).url}`)
