// Reads from a pool of connections. A read that the database does not answer in time is refused, never left to hang.
import pg from 'pg'
import { StoreUnavailable } from '../store.ts'
import { type ConnectionOptions, clientConfig } from './connection.ts'
import { isLost, isWrongSchema, reasonOf } from './database-error.ts'
import type { DbRow } from './decode.ts'
import { planName } from './statement.ts'

export interface ReadPool {
  rows(name: string, text: string, values?: readonly unknown[]): Promise<readonly DbRow[]>
  close(): Promise<void>
}

export interface ReadPoolOptions extends ConnectionOptions {
  readonly poolSize: number
  /** Why the database cannot be reached, while that is known. */
  readonly away: () => Error | undefined
}

export function createReadPool(options: ReadPoolOptions): ReadPool {
  const pool = new pg.Pool({
    ...clientConfig(options),
    max: options.poolSize,
    idleTimeoutMillis: 30_000,
    // Nothing is kept open by connections that nobody uses.
    allowExitOnIdle: true,
  })
  // A connection that breaks while nobody uses it is taken out of the pool; the next read opens another.
  pool.on('error', () => undefined)

  async function rows(name: string, text: string, values: readonly unknown[] = []) {
    const cause = options.away()
    if (cause !== undefined) throw unreachable(cause)
    const query = { name: planName(name), text, values: [...values] }
    try {
      return (await pool.query<DbRow>(query)).rows
    } catch (error) {
      if (!isLost(error)) throw isWrongSchema(error) ? error : unreachable(error)
    }
    // A connection that broke since its last use is noticed only now: once more, on another one.
    try {
      return (await pool.query<DbRow>(query)).rows
    } catch (error) {
      throw isWrongSchema(error) ? error : unreachable(error)
    }
  }

  return { rows, close: () => pool.end() }
}

function unreachable(cause: unknown): StoreUnavailable {
  return new StoreUnavailable(`the database cannot be reached: ${reasonOf(cause)}`, { cause })
}
