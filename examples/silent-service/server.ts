// A service that takes every request and never answers: what a crash, a timeout and an unknown effect look like.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Listens on a free port of this machine and says where. `taken` is how many requests came. */
export async function startSilence(
  port = 0,
): Promise<{ readonly url: string; taken(): number; stop(): Promise<void> }> {
  let taken = 0
  const server = createServer((request) => {
    taken += 1
    request.resume()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve)
  })
  const { port: actual } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${actual}/`,
    taken: () => taken,
    stop() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

if (import.meta.main) console.log(`silence listens on ${(await startSilence(7504)).url}`)
