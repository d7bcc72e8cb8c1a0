// A service whose work takes a while: it takes a request on, tells how far it is when asked, and reports the end by itself.
import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Request {
  readonly request_id: string
  readonly input: { readonly year: number; readonly seconds?: number }
  readonly idempotency_key: string
  /** There where the server that asks can be reached. */
  readonly callback?: { readonly url: string; readonly token: string }
}

interface Report {
  readonly request: Request
  /** The envelope that ends the request, once it has ended. */
  end?: object
}

/** Listens on this machine and says where. `reports` is what was really made, by the key that it was asked with. */
export async function startReports(
  port = 0,
): Promise<{ readonly url: string; readonly reports: Map<string, Report>; stop(): Promise<void> }> {
  const reports = new Map<string, Report>()
  const timers = new Set<NodeJS.Timeout>()

  const server = createServer(async (incoming, response) => {
    if (incoming.method === 'GET') return tell(decodeURIComponent((incoming.url ?? '').slice(1)), response)
    const request = await readRequest(incoming)
    // The key makes a repeat harmless: work that is under way is not begun again.
    if (!reports.has(request.idempotency_key)) begin(request)
    response.writeHead(202).end()
  })

  function begin(request: Request): void {
    const report: Report = { request }
    reports.set(request.idempotency_key, report)
    const { year, seconds = 1 } = request.input
    const timer = setTimeout(() => {
      timers.delete(timer)
      report.end = {
        tool_contract_version: 'v1',
        request_id: request.request_id,
        status: 'ok',
        output: { year, pages: 12 },
      }
      if (request.callback !== undefined) tellOf(report.end, request.callback)
    }, seconds * 1000)
    timers.add(timer)
  }

  /** Asked: 204 for "still at it", the envelope once it has ended. */
  function tell(id: string, response: ServerResponse): void {
    const report = [...reports.values()].find(({ request }) => request.request_id === id)
    if (report === undefined) response.writeHead(404).end()
    else if (report.end === undefined) response.writeHead(204).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(report.end))
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve)
  })
  const { port: actual } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${actual}/`,
    reports,
    stop() {
      for (const timer of timers) clearTimeout(timer)
      return stop(server)
    },
  }
}

/** By itself: signed over the time and the body. Nobody has to listen: whoever asks is told all the same. */
async function tellOf(end: object, { url, token }: NonNullable<Request['callback']>): Promise<void> {
  const body = JSON.stringify(end)
  const time = Math.floor(Date.now() / 1000)
  const code = createHmac('sha256', token).update(`${time}.${body}`).digest('hex')
  const headers = {
    'content-type': 'application/json',
    'writ-timestamp': String(time),
    'writ-signature': `v1=${code}`,
  }
  await fetch(url, { method: 'POST', body, headers }).catch(() => {})
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

if (import.meta.main) {
  const port = Number(process.argv[2] ?? 7505)
  console.log(`reports are made on ${(await startReports(port)).url}`)
}
