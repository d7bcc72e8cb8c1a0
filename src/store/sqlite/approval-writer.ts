// Writes approvals: looked at before anything of a write is there, changed with the rest of it.
import type { DatabaseSync } from 'node:sqlite'
import { approvalMoveProblem } from '../approval-rule.ts'
import { APPROVAL_COLUMNS, decodeApproval, type EncodedApproval } from './approval-codec.ts'
import type { EncodedResult } from './codec.ts'
import { prepareRows } from './statement.ts'

export interface ApprovalWriter {
  /** What stands in the way of the write; 0 when nothing does. */
  check(approval: EncodedApproval): EncodedResult
  /** Only after `check` found nothing. */
  write(approval: EncodedApproval): void
  /** Of one entry: what people were shown. */
  erase(namespace: string, entryId: string): void
  forget(namespace: string, entryId: string): void
}

const CONFLICT: EncodedResult = { kind: 'conflict', on: 'approval' }

export function createApprovalWriter(db: DatabaseSync): ApprovalWriter {
  const find = prepareRows(db, `select ${APPROVAL_COLUMNS} from approval where namespace = ? and id = ?`)
  const put = db.prepare(`
    insert into approval (${APPROVAL_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict (namespace, id) do update set
      state = excluded.state, revision = excluded.revision, body = excluded.body, payload = excluded.payload`)
  // The revision moves, so that nobody who read it before can bring back what was erased.
  const erase = db.prepare(`
    update approval set payload = null, revision = revision + 1
    where namespace = ? and entry_id = ? and payload is not null`)
  const forget = db.prepare('delete from approval where namespace = ? and entry_id = ?')

  return {
    check([kind, row]) {
      const [namespace, id, , revision] = row as [string, string, string, number]
      const found = find.get(namespace, id)
      if (kind === 'insert') return found === undefined ? 0 : CONFLICT
      if (found === undefined || found[3] !== revision - 1) return CONFLICT
      const message = approvalMoveProblem(decodeApproval(found), decodeApproval(row))
      return message === undefined ? 0 : { kind: 'refused', message }
    },
    write([, row]) {
      put.run(...row)
    },
    erase(namespace, entryId) {
      erase.run(namespace, entryId)
    },
    forget(namespace, entryId) {
      forget.run(namespace, entryId)
    },
  }
}
