// Connections to PostgreSQL, all with the same bounds: nobody waits for a server that stands still.
import pg from 'pg'
import type { World } from '../../util/world.ts'
import { StoreUnavailable } from '../store.ts'

export interface ConnectionOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string
  /** The longest time that a connection or a statement may take. A server that stands still is noticed after it. */
  readonly timeoutMs: number
  /** How many times as long a statement may take. @default 1 */
  readonly patience?: number
}

/** Numbers of the database as numbers: none here grows past 2^53. */
const NUMBERS: ReadonlySet<number> = new Set([pg.types.builtins.INT8, pg.types.builtins.FLOAT8])

const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    NUMBERS.has(oid)
      ? Number
      : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
}

export function clientConfig({ url, timeoutMs, patience = 1 }: ConnectionOptions): pg.ClientConfig {
  const statementMs = Math.ceil(timeoutMs * patience)
  return {
    connectionString: url,
    types,
    application_name: 'writ',
    keepAlive: true,
    keepAliveInitialDelayMillis: timeoutMs,
    connectionTimeoutMillis: timeoutMs,
    // Both: the server gives up what nobody waits for any more, and a server that stands still is given up.
    statement_timeout: statementMs,
    query_timeout: statementMs + 500,
    lock_timeout: Math.ceil(statementMs * 0.6),
    // A process that stands still in the middle of a transaction must not hold its locks for longer than its lease.
    idle_in_transaction_session_timeout: timeoutMs,
  }
}

/** Connects. `onLost` hears once when the connection ends without `drop`. */
export async function openClient(
  options: ConnectionOptions,
  onLost: (cause: Error) => void = () => undefined,
): Promise<pg.Client> {
  const client = new pg.Client(clientConfig(options))
  let connected = false
  let told = false
  const lost = (cause: Error) => {
    if (connected && !told) onLost(cause)
    told = connected
  }
  client.on('error', lost)
  client.on('end', () => lost(new Error('the connection was closed')))
  try {
    await client.connect()
  } catch (error) {
    drop(client)
    throw error
  }
  connected = true
  return client
}

/** Lets go of a connection at once, whatever it is doing; `end` waits for a server that may never answer. */
export function drop(client: pg.Client): void {
  client.removeAllListeners('end')
  client.connection.stream.destroy()
}

/** Ends a connection in order, without waiting for long. */
export async function goodbye(client: pg.Client, world: Pick<World, 'after'>): Promise<void> {
  const timer = world.after(1_000, () => drop(client))
  client.removeAllListeners('end')
  await client.end()
  timer.cancel()
}

export function pause(world: Pick<World, 'after'>, ms: number): Promise<void> {
  return new Promise((resolve) => void world.after(ms, resolve))
}

/** Refuses what is no url of a PostgreSQL, without repeating it: there may be a password in it. */
export function checkUrl(url: string): void {
  let parsed: URL
  try {
    parsed = new URL(url)
  } catch {
    // Its message and its `input` hold the url.
    throw new StoreUnavailable(
      'the url of the database cannot be read: it must look like postgres://user:password@host:5432/database, ' +
        'with special characters of the password percent-encoded',
    )
  }
  if (parsed.protocol !== 'postgres:' && parsed.protocol !== 'postgresql:') {
    throw new StoreUnavailable(
      `the url of the database begins with ${parsed.protocol}//, but must begin with postgres://`,
    )
  }
}
