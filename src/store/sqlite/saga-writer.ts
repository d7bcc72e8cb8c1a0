// Writes sagas: looked at before anything of a write is there, changed with the rest of it.
import type { DatabaseSync } from 'node:sqlite'
import type { Saga, SagaState } from '../../contract/saga.ts'
import { ENDED_SAGA_STATES, nextReason, sagaMoveProblem } from '../saga-rule.ts'
import type { EncodedResult, WriteRest } from './codec.ts'
import { decodeSaga, SAGA_COLUMNS } from './saga-codec.ts'
import { prepareRows, textList } from './statement.ts'

interface SagaWriter {
  /** What stands in the way of the write; 0 when nothing does. */
  check(rest: WriteRest): EncodedResult
  /** Only after `check` found nothing. */
  write(rest: WriteRest): void
  forget(before: number, limit: number): number
}

const CONFLICT: EncodedResult = ['saga', null]

export function createSagaWriter(db: DatabaseSync): SagaWriter {
  const find = prepareRows(db, `select ${SAGA_COLUMNS} from saga where namespace = ? and id = ?`)
  const insert = db.prepare(`insert into saga (${SAGA_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
  const update = db.prepare(`
    update saga set state = ?, revision = revision + 1, reason = ?, ended_at = coalesce(?, ended_at)
    where namespace = ? and id = ?`)
  const forget = db.prepare(`
    delete from saga where (namespace, id) in (
      select namespace, id from saga where ended_at < ? and state in (${textList(ENDED_SAGA_STATES)})
      order by ended_at limit ?)`)

  function sagaOf(namespace: string, id: string): Saga | undefined {
    const row = find.get(namespace, id)
    return row === undefined ? undefined : decodeSaga(row)
  }

  return {
    check({ namespace, saga, openSaga }) {
      if (openSaga !== null && sagaOf(namespace, openSaga)?.state !== 'open') return CONFLICT
      if (saga === null) return 0
      if (saga[0] === 'insert') return sagaOf(namespace, saga[1][1] as string) === undefined ? 0 : CONFLICT
      const [id, revision, state] = saga[1] as [string, number, SagaState]
      const found = sagaOf(namespace, id)
      if (found === undefined || found.revision !== revision) return CONFLICT
      const message = sagaMoveProblem(found, { id, state })
      return message === undefined ? 0 : { kind: 'refused', message }
    },

    write({ namespace, saga }) {
      if (saga === null) return
      if (saga[0] === 'insert') {
        insert.run(...saga[1])
        return
      }
      const [id, , state, reason, endedAt] = saga[1] as [
        string,
        number,
        SagaState,
        string | null,
        number | null,
      ]
      const found = sagaOf(namespace, id) as Saga
      const said = nextReason(found, { state, ...(reason === null ? {} : { reason }) })
      update.run(state, said, endedAt, namespace, id)
    },

    forget: (before, limit) => Number(forget.run(before, limit).changes),
  }
}
