// A plain HTTP service, as any team might already have: POST a city, get its weather.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

const DEGREES: Readonly<Record<string, number>> = { oslo: 4, lisbon: 19, nairobi: 24 }

/** Listens on a free port of this machine and says where. */
export async function startWeather(port = 0): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { city } = JSON.parse(Buffer.concat(chunks).toString()) as { city: string }
    const degrees = DEGREES[city.toLowerCase()]
    const body = degrees === undefined ? { error: `no weather for ${city}` } : { city, degrees }
    response.writeHead(degrees === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve)
  })
  const { port: actual } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${actual}/weather`, stop: () => stop(server) }
}

function stop(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}

if (import.meta.main) console.log(`weather listens on ${(await startWeather(7501)).url}`)
