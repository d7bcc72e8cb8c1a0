// The first connection: waits for a database that is still away, refuses one that cannot be trusted, and says what to do.
import type pg from 'pg'
import { showUrl } from '../../util/show-url.ts'
import type { World } from '../../util/world.ts'
import { StoreUnavailable } from '../store.ts'
import { type ConnectionOptions, checkUrl, goodbye, openClient, pause } from './connection.ts'
import { isLost, reasonOf, sqlState } from './database-error.ts'
import { migrate } from './migrations.ts'

export interface OpenOptions extends ConnectionOptions {
  /** How long a database that cannot be reached is waited for. */
  readonly startMs: number
  readonly world: Pick<World, 'clock' | 'after'>
}

const OLDEST_VERSION = 140_000

/** Leaves the database ready for this build. */
export async function prepareDatabase(options: OpenOptions): Promise<void> {
  checkUrl(options.url)
  const until = options.world.clock.monotonic() + options.startMs
  for (let tries = 0; ; tries += 1) {
    let client: pg.Client | undefined
    try {
      client = await openClient(options)
      await checkSettings(client)
      await migrate(client)
      return
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error
      const refused = refusal(error, options.url)
      if (refused !== undefined) throw refused
      if (options.world.clock.monotonic() >= until) throw away(error, options)
    } finally {
      if (client !== undefined) await goodbye(client, options.world)
    }
    await pause(options.world, Math.min(100 * 2 ** tries, 2_000))
  }
}

/** S38: what is acknowledged must be on disk. Asked on every connection that writes: a role or a url may set it. */
export async function checkSettings(client: pg.Client): Promise<void> {
  const { rows } = await client.query<Record<string, string>>(
    `select current_setting('server_version_num') as version, current_setting('server_version') as named,
            current_setting('synchronous_commit') as commit, current_setting('fsync') as fsync,
            current_setting('server_encoding') as encoding, current_setting('transaction_read_only') as readonly`,
  )
  const { version, named, commit, fsync, encoding, readonly } = rows[0] ?? {}
  if (Number(version) < OLDEST_VERSION) {
    throw new StoreUnavailable(`this is PostgreSQL ${named}; Writ needs 14 or newer: upgrade the server`)
  }
  if (readonly === 'on') {
    throw new ReadOnly(
      'this PostgreSQL takes no writes: give the url of the primary, or end its read-only mode',
    )
  }
  if (commit !== 'on' && commit !== 'remote_apply') {
    throw new StoreUnavailable(
      `synchronous_commit is ${commit}: what the database acknowledges could be lost, and an effect sent twice. ` +
        'Set it to on for the role of Writ: alter role NAME set synchronous_commit = on',
    )
  }
  if (fsync !== 'on') {
    throw new StoreUnavailable(
      'fsync is off: a crash would lose what the database has acknowledged. Set fsync = on in postgresql.conf',
    )
  }
  if (encoding !== 'UTF8') {
    throw new StoreUnavailable(
      `the database has the encoding ${encoding}: make one with create database NAME encoding 'UTF8' template template0`,
    )
  }
}

/** A standby may become the primary: waited for like one that is away. */
class ReadOnly extends Error {
  override readonly name = 'ReadOnly'
}

/** What no waiting mends. */
function refusal(error: unknown, url: string): StoreUnavailable | undefined {
  const state = sqlState(error)
  const where = showUrl(url)
  if (state === '28P01' || state === '28000' || reasonOf(error).startsWith('SASL')) {
    return new StoreUnavailable(
      `PostgreSQL refuses the user or the password of ${where}: ${reasonOf(error)}. ` +
        'Correct them in the url; special characters are percent-encoded',
    )
  }
  if (state === '3D000') {
    return new StoreUnavailable(`${reasonOf(error)}: create it, or correct the name in the url ${where}`)
  }
  if (state === '42501') {
    return new StoreUnavailable(
      `the user of ${where} may not do that: ${reasonOf(error)}. Let it create a schema: grant create on database NAME to USER`,
    )
  }
  if (error instanceof ReadOnly || isLost(error) || /^(53|55|57|58)/.test(state)) return undefined
  return new StoreUnavailable(`the database ${where} cannot be used: ${reasonOf(error)}`)
}

function away(error: unknown, { url, startMs }: OpenOptions): StoreUnavailable {
  return new StoreUnavailable(
    `PostgreSQL at ${showUrl(url)} could not be reached for ${Math.round(startMs / 1000)} s: ${reasonOf(error)}. ` +
      'Start it, or correct the host and the port in the url',
  )
}
