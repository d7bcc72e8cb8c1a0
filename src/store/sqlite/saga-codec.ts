// A saga as it crosses to the writer and is kept.
import type { Saga, SagaState } from '../../contract/saga.ts'
import type { SagaWrite } from '../store.ts'
import { checked, type Row } from './row.ts'

/** An update: id, revision, state, reason and end, where null says nothing. */
export type EncodedSaga = readonly ['insert' | 'update', Row]

export const SAGA_COLUMNS = 'namespace, id, state, revision, reason, created_at, ended_at, actor, caller'

export function encodeSaga(write: SagaWrite): EncodedSaga {
  if (write.kind === 'update') {
    const { id, revision, state, reason = null, endedAt = null } = write
    return ['update', checked([id, revision, state, reason, endedAt], 'saga')]
  }
  const { namespace, id, caller, state, revision, reason, createdAt, endedAt } = write.saga
  const row = [
    namespace,
    id,
    state,
    revision,
    reason,
    createdAt,
    endedAt ?? null,
    caller.actor,
    JSON.stringify(caller),
  ]
  return ['insert', checked(row, 'saga')]
}

/** `row` has SAGA_COLUMNS. */
export function decodeSaga(row: Row): Saga {
  return {
    namespace: row[0] as string,
    id: row[1] as string,
    caller: JSON.parse(row[8] as string),
    state: row[2] as SagaState,
    revision: row[3] as number,
    reason: row[4] as string,
    createdAt: row[5] as number,
    ...(row[6] === null ? {} : { endedAt: row[6] as number }),
  }
}
