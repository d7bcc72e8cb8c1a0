// Writes declared resources: all changes of one apply, or none.
import type { DatabaseSync } from 'node:sqlite'
import { readResourceBody } from '../resource-body.ts'
import { planResources } from '../resource-plan.ts'
import type { ApplyResult, ResourceChange, ResourceRow } from '../store.ts'
import type { Row } from './row.ts'
import { prepareRows } from './statement.ts'

interface ResourceWriter {
  apply(namespace: string, changes: readonly ResourceChange[], at: number): ApplyResult
}

export const RESOURCE_COLUMNS =
  'namespace, kind, name, version, resource_version, generation, digest, body, created_at, updated_at'

/** `row` has RESOURCE_COLUMNS. */
export function decodeResource(row: Row): ResourceRow {
  return {
    namespace: row[0] as string,
    kind: row[1] as string,
    name: row[2] as string,
    version: row[3] as string,
    resourceVersion: row[4] as number,
    generation: row[5] as number,
    digest: row[6] as string,
    body: readResourceBody(row[7] as string),
    createdAt: row[8] as number,
    updatedAt: row[9] as number,
  }
}

export function createResourceWriter(db: DatabaseSync): ResourceWriter {
  const find = prepareRows(
    db,
    `select ${RESOURCE_COLUMNS} from resource where namespace = ? and kind = ? and name = ? and version = ?`,
  )
  const put = db.prepare(`
    insert into resource (${RESOURCE_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict (namespace, kind, name, version) do update set
      resource_version = excluded.resource_version, generation = excluded.generation, digest = excluded.digest,
      body = excluded.body, created_at = excluded.created_at, updated_at = excluded.updated_at`)
  const remove = db.prepare(
    'delete from resource where namespace = ? and kind = ? and name = ? and version = ?',
  )
  const lastVersion = prepareRows(db, 'select last from resource_counter')
  const setLastVersion = db.prepare('update resource_counter set last = ?')

  return {
    apply(namespace, changes, at) {
      const plan = planResources({
        namespace,
        changes,
        at,
        find: ({ kind, name, version }) => {
          const row = find.get(namespace, kind, name, version)
          return row === undefined ? undefined : decodeResource(row)
        },
        lastVersion: (lastVersion.get() as [number])[0],
      })
      if (plan.kind === 'conflict') {
        const change = changes[plan.index] as ResourceChange
        return { kind: 'conflict', change, ...(plan.found === undefined ? {} : { found: plan.found }) }
      }
      for (const write of plan.writes) {
        if ('remove' in write) {
          const { kind, name, version } = write.remove
          remove.run(namespace, kind, name, version)
          continue
        }
        const row = write.put
        put.run(
          row.namespace,
          row.kind,
          row.name,
          row.version,
          row.resourceVersion,
          row.generation,
          row.digest,
          JSON.stringify(row.body),
          row.createdAt,
          row.updatedAt,
        )
      }
      if (plan.writes.length > 0) setLastVersion.run(plan.lastVersion)
      return { kind: 'applied', rows: plan.rows }
    },
  }
}
