// A tool that speaks the contract over HTTP, in a process of its own: answers every envelope with a small one.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const server = createServer(async (request, response) => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  const { request_id } = JSON.parse(String(Buffer.concat(parts))) as { request_id: string }
  const body = JSON.stringify({ request_id, status: 'ok', output: { ok: true, at: 'peer' } })
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit(0))
