// The tools as an operator applied them before the run: made once, through the real door, and copied into every database.
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { Dispatcher } from 'undici'
import { createRuntime } from '../../src/runtime.ts'
import { createInlineFlusher } from '../../src/store/sqlite/inline-flusher.ts'
import { migrate } from '../../src/store/sqlite/migrations.ts'
import { createSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { createUuid7 } from '../../src/util/uuid.ts'
import type { World } from '../../src/util/world.ts'
import { Random } from './random.ts'
import { ALL_TOOLS, manifestOf, VERSIONS } from './sim-tool.ts'

export type ResourceCells = readonly (string | number)[]

/** Row by tool name, of the first version of each. */
export async function applyTools(): Promise<ReadonlyMap<string, ResourceCells>> {
  const database = new DatabaseSync(':memory:')
  migrate(database)
  const world = stillWorld()
  const store = await createSqliteStore({ world, database, flusher: createInlineFlusher(database) })
  const runtime = await createRuntime({ world, store: { kind: 'given', store } })
  const sources = ALL_TOOLS.map((tool) => ({
    file: `${tool.name}.json`,
    text: JSON.stringify(manifestOf(tool, VERSIONS[0])),
  }))
  const { ok, problems } = await runtime.resources.apply(sources)
  if (!ok) throw new Error(`the tools of the simulator cannot be applied: ${JSON.stringify(problems)}`)
  const select = database.prepare('select * from resource order by resource_version')
  select.setReturnArrays(true)
  const rows = select.all() as unknown as ResourceCells[]
  database.close()
  return new Map(rows.map((row) => [String(row[2]), row]))
}

/** The database of the machine. It is emptied for each run: to make one costs more than most runs do. */
export interface MachineDatabase {
  readonly database: DatabaseSync
  /** As a process finds it that starts for the first time, with those tools applied. */
  reset(rows: readonly ResourceCells[]): void
}

/** Every life prepares the same statements: they are the database's, and are run to their end each time. */
class SharedStatements extends DatabaseSync {
  readonly #prepared = new Map<string, StatementSync>()

  override prepare(sql: string): StatementSync {
    const statement = this.#prepared.get(sql) ?? super.prepare(sql)
    this.#prepared.set(sql, statement)
    return statement
  }
}

export function createDatabase(): MachineDatabase {
  const database = new SharedStatements(':memory:')
  migrate(database)
  const tables = database
    .prepare(
      "select name from sqlite_schema where type = 'table' and name not in ('writ_schema', 'resource_counter')",
    )
    .all()
    .map(({ name }) => String(name))
  const clear = tables.map((name) => database.prepare(`delete from ${name}`))
  const insert = database.prepare('insert into resource values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
  const count = database.prepare('update resource_counter set last = ?')
  return {
    database,
    reset(rows) {
      if (database.isTransaction) database.exec('rollback')
      for (const statement of clear) statement.run()
      for (const row of rows) insert.run(...row)
      count.run(ALL_TOOLS.length)
    },
  }
}

/** No time passes in it, and nothing is sent. */
function stillWorld(): World {
  const random = new Random('tools')
  const id = createUuid7(
    () => 0,
    (size) => random.bytes(size),
  )
  return {
    clock: { now: () => 0, monotonic: () => 0 },
    after: () => ({ cancel() {} }),
    soon: (run) => queueMicrotask(run),
    random: () => random.next(),
    id,
    secret: (size) => Buffer.from(random.bytes(size)).toString('base64url'),
    network: new Dispatcher(),
    epoch: id(),
  }
}
