// Reads approvals, and what is taken of budgets.
import type { StoreReads } from '../assemble-store.ts'
import { APPROVAL_COLUMNS, decodeApproval } from './decode.ts'
import { keepable } from './encode.ts'
import type { ReadPool } from './reading.ts'
import { createWhere } from './where.ts'

export function approvalReads(pool: ReadPool): StoreReads['approvals'] {
  const select = `select ${APPROVAL_COLUMNS} from writ.approval`
  return {
    async get(namespace, id) {
      const [row] = await pool.rows('get-approval', `${select} where namespace = $1 and id = $2`, [
        keepable(namespace),
        keepable(id),
      ])
      return row && decodeApproval(row)
    },
    async list({ namespace, states, requester, tool, before, limit }) {
      const where = createWhere()
      where.add('namespace = ?', keepable(namespace))
      if (states !== undefined) where.add('state = any (?::text[])', states)
      if (requester !== undefined) where.add('requester = ?', keepable(requester))
      if (tool !== undefined) where.add('tool = ?', keepable(tool))
      if (before !== undefined) where.add('id < ?', keepable(before))
      const rows = await pool.rows(...where.query('list-approvals', select, 'order by id desc', limit))
      return rows.map(decodeApproval)
    },
  }
}

export function budgetReads(pool: ReadPool): StoreReads['budgets'] {
  return {
    async spent(namespace, keys) {
      if (keys.length === 0) return []
      const rows = await pool.rows(
        'spent',
        `select coalesce(b.spent, 0) as spent
         from json_to_recordset($2::json) as r(place bigint, budget text, subject text, began_at bigint)
         left join writ.budget as b on b.namespace = $1 and b.budget = r.budget and b.subject = r.subject
           and b.began_at = r.began_at
         order by r.place`,
        [
          keepable(namespace),
          JSON.stringify(
            keys.map(({ budget, subject, from }, place) => ({
              place,
              budget: keepable(budget),
              subject: keepable(subject),
              began_at: from,
            })),
          ),
        ],
      )
      return rows.map(({ spent }) => spent as number)
    },
  }
}
