// A service that answers only those who show its token, and repeats the token in its answer, as careless services do.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Listens on this machine and says where. `tokens` are those that it takes. */
export async function startForecasts(
  tokens: ReadonlySet<string>,
  port = 0,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
    response.writeHead(tokens.has(token) ? 200 : 401, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ forecast: 'sunny', asked_with: token }))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

if (import.meta.main) await startForecasts(new Set(['first-token-0001', 'second-token-0002']), 7506)
