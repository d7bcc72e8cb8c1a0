// Writes declared resources: all changes of one apply, or none. The counter of versions is the lock between replicas.
import type pg from 'pg'
import { readResourceBody } from '../resource-body.ts'
import { planResources, resourceKey } from '../resource-plan.ts'
import type { ApplyResult, ResourceChange, ResourceRow } from '../store.ts'
import type { DbRow } from './decode.ts'
import { rowsOf, run, runParts } from './statement.ts'

export const RESOURCE_COLUMNS =
  'namespace, kind, name, version, resource_version, generation, digest, body, created_at, updated_at'

export function decodeResource(row: DbRow): ResourceRow {
  return {
    namespace: row.namespace as string,
    kind: row.kind as string,
    name: row.name as string,
    version: row.version as string,
    resourceVersion: row.resource_version as number,
    generation: row.generation as number,
    digest: row.digest as string,
    body: readResourceBody(row.body as string),
    createdAt: row.created_at as number,
    updatedAt: row.updated_at as number,
  }
}

const RECORD = `json_to_recordset($1::json) as r(
  namespace text, kind text, name text, version text, resource_version bigint, generation bigint, digest text, body text,
  created_at double precision, updated_at double precision)`

const PUT = `
  insert into writ.resource (${RESOURCE_COLUMNS}) select ${RESOURCE_COLUMNS} from ${RECORD}
  on conflict (namespace, kind, name, version) do update set
    resource_version = excluded.resource_version, generation = excluded.generation, digest = excluded.digest,
    body = excluded.body, created_at = excluded.created_at, updated_at = excluded.updated_at`

const REMOVE = `
  delete from writ.resource as s using ${RECORD}
  where s.namespace = r.namespace and s.kind = r.kind and s.name = r.name and s.version = r.version`

export async function applyResources(
  client: pg.Client,
  namespace: string,
  changes: readonly ResourceChange[],
  at: number,
): Promise<ApplyResult> {
  const counter = await run<{ last: number }>(
    client,
    'lock-resources',
    'select last from writ.resource_counter for update',
  )
  const { rows } = await run(
    client,
    'find-resources',
    `select ${RESOURCE_COLUMNS} from writ.resource
     where namespace = $1 and (kind, name, version) in (
       select kind, name, version from json_to_recordset($2::json) as r(kind text, name text, version text))`,
    [namespace, JSON.stringify(changes.map(({ kind, name, version }) => ({ kind, name, version })))],
  )
  const found = new Map(rows.map(decodeResource).map((row) => [resourceKey(row), row]))
  const plan = planResources({
    namespace,
    changes,
    at,
    find: (change) => found.get(resourceKey(change)),
    lastVersion: counter.rows[0]?.last ?? 0,
  })
  if (plan.kind === 'conflict') {
    const change = changes[plan.index] as ResourceChange
    return { kind: 'conflict', change, ...(plan.found === undefined ? {} : { found: plan.found }) }
  }
  if (plan.writes.length === 0) return { kind: 'applied', rows: plan.rows }
  // The last change of a resource is the one that stays.
  const puts = new Map<string, string>()
  const removes = new Map<string, string>()
  for (const write of plan.writes) {
    const key = resourceKey('put' in write ? write.put : write.remove)
    puts.delete(key)
    removes.delete(key)
    if ('put' in write) puts.set(key, encodeResource(write.put))
    else {
      const { kind, name, version } = write.remove
      removes.set(key, JSON.stringify({ namespace, kind, name, version }))
    }
  }
  await runParts(
    client,
    [
      { name: 'put-resources', text: PUT, values: [rowsOf(puts.values())] },
      { name: 'remove-resources', text: REMOVE, values: [rowsOf(removes.values())] },
    ],
    {
      name: 'count-resources',
      text: 'update writ.resource_counter set last = $1',
      values: [plan.lastVersion],
    },
  )
  return { kind: 'applied', rows: plan.rows }
}

function encodeResource(row: ResourceRow): string {
  return JSON.stringify({
    namespace: row.namespace,
    kind: row.kind,
    name: row.name,
    version: row.version,
    resource_version: row.resourceVersion,
    generation: row.generation,
    digest: row.digest,
    body: JSON.stringify(row.body),
    created_at: row.createdAt,
    updated_at: row.updatedAt,
  })
}
