// Reads approvals, and what is taken of budgets.
import type { DatabaseSync } from 'node:sqlite'
import type { Approval, ApprovalState } from '../../contract/approval.ts'
import type { StoreReads } from '../assemble-store.ts'
import type { ApprovalFilter } from '../store.ts'
import { APPROVAL_COLUMNS, decodeApproval } from './approval-codec.ts'
import { FIND_SPENT } from './budget-writer.ts'
import { keepable } from './row.ts'
import { createStatements, prepareRows } from './statement.ts'

export function approvalReads(db: DatabaseSync): StoreReads['approvals'] {
  const get = prepareRows(db, `select ${APPROVAL_COLUMNS} from approval where namespace = ? and id = ?`)
  const lists = createStatements(db)

  function list(filter: ApprovalFilter, state?: ApprovalState): Approval[] {
    const { where, parameters } = approvalQuery(filter, state)
    const sql = `select ${APPROVAL_COLUMNS} from approval where ${where} order by id desc limit ?`
    return lists(sql)
      .all(...parameters, filter.limit)
      .map(decodeApproval)
  }

  return {
    get(namespace, id) {
      const row = get.get(namespace, id)
      return row === undefined ? undefined : decodeApproval(row)
    },
    // Each state on its own is read in order from its index; together they would have to be sorted.
    list(filter) {
      if (filter.states === undefined) return list(filter)
      return [...new Set(filter.states)]
        .flatMap((state) => list(filter, state))
        .sort((a, b) => (a.id < b.id ? 1 : -1))
        .slice(0, filter.limit)
    },
  }
}

/** The text has no values of its own: what fills it comes beside it. */
function approvalQuery(
  { namespace, requester, tool, before }: Omit<ApprovalFilter, 'states' | 'limit'>,
  state?: ApprovalState,
): { where: string; parameters: string[] } {
  const terms: [string, string | undefined][] = [
    ['namespace = ?', namespace],
    ['state = ?', state],
    ['requester = ?', requester],
    ['tool = ?', tool],
    ['id < ?', before],
  ]
  const used = terms.filter((term): term is [string, string] => term[1] !== undefined)
  return {
    where: used.map(([term]) => term).join(' and '),
    parameters: used.map(([, value]) => keepable(value)),
  }
}

export function budgetReads(db: DatabaseSync): StoreReads['budgets'] {
  const find = prepareRows(db, FIND_SPENT)
  return {
    spent: (namespace, keys) =>
      keys.map(({ budget, subject, from }) => {
        const row = find.get(namespace, budget, subject, from) as [number] | undefined
        return row?.[0] ?? 0
      }),
  }
}
