// A client for the server that a command talks to, closed when the command is done.
import { type Client, createClient } from '../client/client.ts'
import { findServer, stoppingOf } from './find-server.ts'
import type { Terminal } from './terminal.ts'

export interface ServerChoice {
  readonly data: string | undefined
  readonly namespace: string | undefined
}

export async function withClient<T>(
  terminal: Terminal,
  { data, namespace }: ServerChoice,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const found = findServer(terminal, data)
  const client = createClient({
    url: found.url,
    token: found.token,
    ...(namespace === undefined ? {} : { namespace }),
  })
  try {
    return await work(client)
  } catch (error) {
    throw stoppingOf(found, error) ?? error
  } finally {
    await client.close()
  }
}
