// Opens the port, and says plainly why where it cannot.
import type { AddressInfo, Server as NetServer } from 'node:net'

export async function listen(
  server: NetServer,
  host: string,
  port: number,
): Promise<{ readonly url: string }> {
  await new Promise<void>((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => {
      server.off('listening', opened)
      reject(new Error(reasonOf(error, host, port), { cause: error }))
    }
    const opened = (): void => {
      server.off('error', failed)
      resolve()
    }
    server.once('error', failed).once('listening', opened)
    server.listen({ host, port })
  })
  return { url: urlOf(server.address() as AddressInfo) }
}

function reasonOf(error: NodeJS.ErrnoException, host: string, port: number): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `Port ${port} on ${host} is in use. Choose another port, or stop what listens there.`
    case 'EACCES':
      return `Port ${port} on ${host} is not allowed to this user. Choose a port above 1023.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is no address of this machine. Use 127.0.0.1, or an address of one of its networks.`
    default:
      return `Cannot listen on ${host}, port ${port}: ${error.message}`
  }
}

/** One that can be opened from this machine: "every address" is none. */
function urlOf({ address, port, family }: AddressInfo): string {
  if (family !== 'IPv6') return `http://${address === '0.0.0.0' ? '127.0.0.1' : address}:${port}`
  return `http://[${address === '::' ? '::1' : address}]:${port}`
}
