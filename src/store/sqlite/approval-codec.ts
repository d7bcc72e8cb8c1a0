// An approval as it crosses to the writer and is kept: what people were shown apart, so that it can be erased (S18).
import type { Approval, ApprovalState } from '../../contract/approval.ts'
import { approvalProblem } from '../approval-rule.ts'
import { type ApprovalWrite, IllegalWrite } from '../store.ts'
import { checked, type Row } from './row.ts'

/** The row has APPROVAL_COLUMNS. */
export type EncodedApproval = readonly ['insert' | 'update', Row]

export const APPROVAL_COLUMNS = 'namespace, id, state, revision, entry_id, requester, tool, body, payload'

export function encodeApproval(namespace: string, write: ApprovalWrite): EncodedApproval {
  const problem = approvalProblem(namespace, write)
  if (problem !== undefined) throw new IllegalWrite(problem)
  const { shown, asked, ...rest } = write.approval
  const row = [
    rest.namespace,
    rest.id,
    rest.state,
    rest.revision,
    rest.entryId,
    rest.requester,
    rest.binding.tool,
    JSON.stringify(rest),
    shown === undefined && asked === undefined ? null : JSON.stringify({ shown, asked }),
  ]
  return [write.kind, checked(row, 'approval')]
}

/** `row` has APPROVAL_COLUMNS. */
export function decodeApproval(row: Row): Approval {
  return {
    ...JSON.parse(row[7] as string),
    ...(row[8] === null ? {} : JSON.parse(row[8] as string)),
    state: row[2] as ApprovalState,
    revision: row[3] as number,
  }
}
