// A wire between a store and its PostgreSQL that can be cut at a chosen moment.
import { connect, createServer, type Socket } from 'node:net'

export interface Wire {
  readonly port: number
  /**
   * Cuts the connection of the next COMMIT: before it reaches the server, or after the server has answered it and before
   * anybody hears of that. Resolves when it is cut; whatever `meanwhile` does is done before the next connection.
   */
  cutCommit(when: 'before' | 'after', meanwhile?: () => Promise<void>): Promise<void>
  /** Cuts all connections when the next `messages` have left, and takes no new ones for `awayMs`. Gives back whether it came to that. */
  cutAll(messages: number, awayMs: number): () => boolean
  /** Connections that are open, as seen from the store. */
  readonly open: number
  close(): Promise<void>
}

interface Cut extends PromiseWithResolvers<void> {
  readonly when: 'before' | 'after'
  readonly meanwhile: () => Promise<void>
}

/** A simple query: type, length, text, end. */
const COMMIT = Buffer.from('Q\0\0\0\x0bcommit\0', 'latin1')

export async function startWire(serverPort: number): Promise<Wire> {
  const sockets = new Set<Socket>()
  let cut: Cut | undefined
  let held: Promise<void> = Promise.resolve()
  let left = Number.POSITIVE_INFINITY
  let awayMs = 0
  let awayUntil = 0
  const clients = new Set<Socket>()

  const proxy = createServer(async (client) => {
    // What comes from now on waits in the socket.
    client.pause()
    track(client)
    if (performance.now() < awayUntil) {
      client.destroy()
      return
    }
    clients.add(client)
    client.on('close', () => clients.delete(client))
    await held
    const server = connect(serverPort, '127.0.0.1')
    track(server)
    let dropping = false
    const end = () => {
      client.destroy()
      server.destroy()
    }
    client.on('close', end)
    server.on('close', end)
    client.on('data', (data: Buffer) => {
      if (dropping) return
      left -= 1
      if (left === 0) {
        awayUntil = performance.now() + awayMs
        for (const socket of sockets) socket.destroy()
        return
      }
      const mine = cut
      if (mine === undefined || !data.includes(COMMIT)) {
        server.write(data)
        return
      }
      cut = undefined
      dropping = true
      let release: () => void = () => undefined
      held = new Promise((resolve) => {
        release = resolve
      })
      const finish = () => {
        end()
        mine.meanwhile().then(() => {
          release()
          mine.resolve()
        }, mine.reject)
      }
      if (mine.when === 'before') return finish()
      server.once('data', finish)
      server.write(data)
    })
    server.on('data', (data: Buffer) => {
      if (!dropping) client.write(data)
    })
    client.resume()
  })

  function track(socket: Socket): void {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
  }

  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  return {
    port: (proxy.address() as { port: number }).port,
    cutCommit(when, meanwhile = async () => undefined) {
      cut = { when, meanwhile, ...Promise.withResolvers<void>() }
      return cut.promise
    },
    cutAll(messages, forMs) {
      left = messages
      awayMs = forMs
      return () => left <= 0
    },
    get open() {
      return clients.size
    },
    async close() {
      const closed = new Promise((resolve) => proxy.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
