// What `writ doctor` looks at on this machine: the data folder and what is in it.
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { type Check, fail, ok, warn } from './check.ts'
import { CliError, messageOf } from './cli-error.ts'
import { type DataFolder, isAlive, readAdminToken, readServerNote, rightsOfOthers } from './data-folder.ts'
import { brokenStoreFix } from './store-fix.ts'

const OLDEST_NODE = 24

export function checkNode(version: string): Check {
  if (Number.parseInt(version, 10) >= OLDEST_NODE) return ok('node', `Node ${version}`)
  return fail('node', `Node ${version} is too old`, `install Node ${OLDEST_NODE} or later`)
}

export function checkFolder({ path }: DataFolder): Check {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined)
    return warn('data folder', `${path} is not there yet`, "run 'writ up', which makes it")
  if (!found.isDirectory()) return fail('data folder', `${path} is no folder`, 'choose another with --data')
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return fail(
      'data folder',
      `${path} is not yours to read and write`,
      'run as its owner, or choose another with --data',
    )
  }
  if (rightsOfOthers(path) !== 0) {
    return warn('data folder', `others can look into ${path}`, `run: chmod 700 '${path}'`)
  }
  return ok('data folder', path)
}

/** Takes the lock for a moment, which fails exactly while a server runs on the folder. */
export async function checkLock(folder: DataFolder): Promise<Check> {
  // Nothing is made by looking: a lock without a database is the trace of a ledger that was lost.
  if (!existsSync(folder.lockFile)) return ok('lock', 'free')
  const { lockFile } = await import('../store/sqlite/lock.ts')
  const note = readServerNote(folder)
  try {
    lockFile(folder.database).release()
  } catch (error) {
    if (note !== undefined && isAlive(note.pid)) return ok('lock', `held by the server, process ${note.pid}`)
    return warn(
      'lock',
      messageOf(error),
      'find the process that holds it, or wait until its server has started',
    )
  }
  if (note === undefined) return ok('lock', 'free')
  return warn(
    'lock',
    `free, but server.json names process ${note.pid}: that server was killed`,
    "run 'writ up': it recovers what was under way",
  )
}

export function checkToken(folder: DataFolder): Check {
  try {
    if (readAdminToken(folder) === undefined) {
      return ok('token file', 'none; the first start in profile local makes one')
    }
    return ok('token file', 'readable by its owner alone')
  } catch (error) {
    if (error instanceof CliError && error.fix !== undefined)
      return fail('token file', error.message, error.fix)
    return fail('token file', messageOf(error), `mend the rights of ${folder.tokenFile}`)
  }
}

export async function checkStore(folder: DataFolder): Promise<Check> {
  if (!existsSync(folder.database)) return ok('store', 'none yet')
  const [{ openForReading }, { latestSchema }] = await Promise.all([
    import('../store/sqlite/open-database.ts'),
    import('../store/sqlite/migrations.ts'),
  ])
  const latest = latestSchema()
  try {
    const db = openForReading(folder.database)
    try {
      const found = Number(
        db.prepare('select coalesce(max(version), 0) as version from writ_schema').get()?.version,
      )
      if (found > latest) {
        return fail(
          'store',
          `schema ${found} is newer than this Writ, which knows up to ${latest}`,
          'run the newer Writ that wrote it, or restore a backup from before the upgrade',
        )
      }
      return ok(
        'store',
        found === latest ? `schema ${found}` : `schema ${found}; the next start brings it to ${latest}`,
      )
    } finally {
      db.close()
    }
  } catch (error) {
    const message = messageOf(error)
    return fail('store', message, brokenStoreFix(message))
  }
}
