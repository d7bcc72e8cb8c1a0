// The tool of the HTTP benchmarks, in a process of its own: answers every POST with the same small JSON, at once or, below
// /slow, after the time that a service takes which has something to do.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const SLOW_MS = 5
const body = JSON.stringify({ ok: true, at: 'peer' })
const server = createServer((request, response) => {
  request.resume()
  const answer = () => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
    response.end(body)
  }
  request.on('end', () => {
    if (request.url === '/slow') setTimeout(answer, SLOW_MS)
    else answer()
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit(0))
