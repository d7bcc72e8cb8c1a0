// Looks at the sagas that a group of writes counts on, and says how those that it changes will be (S29).
import type pg from 'pg'
import type { Saga } from '../../contract/saga.ts'
import { nextReason, sagaMoveProblem } from '../saga-rule.ts'
import type { LedgerWrite, WriteResult } from '../store.ts'
import type { Refused } from '../write-queue.ts'
import { decodeSaga } from './decode.ts'
import { type EncodedWrite, encodeSaga, pair } from './encode.ts'
import { type Part, rowsOf, run } from './statement.ts'
import type { Placed } from './write-group.ts'

export interface SagaPlan {
  /** By place in the batch: what stands in the way. */
  readonly refusals: ReadonlyMap<number, WriteResult | Refused>
  /** By place in the batch: the saga as it will be. */
  readonly next: ReadonlyMap<number, Saga>
}

const CONFLICT: WriteResult = Object.freeze({ kind: 'conflict', on: 'saga' })
const NOTHING: SagaPlan = Object.freeze({ refusals: new Map(), next: new Map() })

/** Keeps the sagas as they are found until the end of the transaction. */
export async function planSagas(
  client: pg.ClientBase,
  writes: readonly Placed<EncodedWrite>[],
): Promise<SagaPlan> {
  const asking = writes.filter(({ op }) => op.write.saga !== undefined || op.write.openSaga !== undefined)
  if (asking.length === 0) return NOTHING
  const keys = asking.flatMap(({ op }) => sagaKeys(op.write))
  const changing = asking.some(({ op }) => op.write.saga !== undefined)
  const { rows } = await run(
    client,
    `lock-sagas-${changing}`,
    `select * from writ.saga as s
     where (s.namespace, s.id) in (select namespace, id from json_to_recordset($1::json) as r(namespace text, id text))
     order by s.namespace, s.id for ${changing ? 'no key update' : 'share'}`,
    [JSON.stringify(keys)],
  )
  const found = new Map(rows.map(decodeSaga).map((saga) => [pair(saga.namespace, saga.id), saga]))
  const refusals = new Map<number, WriteResult | Refused>()
  const next = new Map<number, Saga>()
  for (const { index, op } of asking) {
    const { namespace, openSaga } = op.write
    if (openSaga !== undefined && found.get(pair(namespace, openSaga))?.state !== 'open') {
      refusals.set(index, CONFLICT)
      continue
    }
    const saga = nextSaga(op.write, found)
    if (saga === undefined) continue
    if ('kind' in saga) refusals.set(index, saga)
    else next.set(index, saga)
  }
  return { refusals, next }
}

function sagaKeys({ namespace, openSaga, saga }: LedgerWrite): { namespace: string; id: string }[] {
  return [openSaga, saga?.kind === 'insert' ? saga.saga.id : saga?.id]
    .filter((id) => id !== undefined)
    .map((id) => ({ namespace, id }))
}

function nextSaga(
  { namespace, saga }: LedgerWrite,
  sagas: ReadonlyMap<string, Saga>,
): Saga | WriteResult | Refused | undefined {
  if (saga === undefined) return undefined
  const found = sagas.get(pair(namespace, saga.kind === 'insert' ? saga.saga.id : saga.id))
  if (saga.kind === 'insert') return found === undefined ? saga.saga : CONFLICT
  if (found === undefined || found.revision !== saga.revision) return CONFLICT
  const message = sagaMoveProblem(found, saga)
  if (message !== undefined) return { kind: 'refused', message }
  return {
    ...found,
    state: saga.state,
    revision: found.revision + 1,
    reason: nextReason(found, saga),
    ...(saga.endedAt === undefined ? {} : { endedAt: saga.endedAt }),
  }
}

const COLUMNS = 'namespace, id, actor, caller, state, revision, reason, created_at, ended_at'

export function sagaParts(sagas: readonly Saga[]): Part[] {
  if (sagas.length === 0) return []
  const text = `
    insert into writ.saga (${COLUMNS}) select ${COLUMNS} from json_to_recordset($1::json) as r(
      namespace text, id text, actor text, caller text, state text, revision bigint, reason text,
      created_at double precision, ended_at double precision)
    on conflict (namespace, id) do update set
      state = excluded.state, revision = excluded.revision, reason = excluded.reason, ended_at = excluded.ended_at
    where writ.saga.revision = excluded.revision - 1`
  return [{ name: 'sagas', text, values: [rowsOf(sagas.map(encodeSaga))] }]
}
