// What every engine asks about an approval before it writes one: pure, so that all give the same answer (S45).
import { APPROVAL_MOVES, type Approval } from '../contract/approval.ts'
import { canonicalJson } from '../util/canonical.ts'
import type { Json } from '../util/json.ts'
import { isKeepable } from './entry-rule.ts'
import type { ApprovalWrite } from './store.ts'

/** What can be said of a write without a look at what is kept; undefined when it may be. */
export function approvalProblem(namespace: string, { kind, approval }: ApprovalWrite): string | undefined {
  const { id, state, revision } = approval
  const where = `approval ${JSON.stringify(id)}`
  if (approval.namespace !== namespace)
    return `${where} of ${approval.namespace} is in a write of ${namespace}`
  if (!isKeepable(id)) return `${where} has a NUL or half of a surrogate pair`
  if (kind === 'update') return undefined
  if (revision !== 1) return `${where} is inserted with revision ${revision}: the first is 1`
  return state === 'pending'
    ? undefined
    : `${where} is inserted as ${state}: every approval begins as pending`
}

/** Why the approval that was found must not become this one; undefined when it may. */
export function approvalMoveProblem(found: Approval, next: Approval): string | undefined {
  const where = `approval ${JSON.stringify(next.id)}`
  if (!APPROVAL_MOVES[found.state].includes(next.state))
    return `${where} is ${found.state} and may not become ${next.state}`
  const other = FIXED.find((field) => textOf(found[field]) !== textOf(next[field]))
  return other === undefined
    ? undefined
    : `${where} may not change its ${other}: people decided about that one`
}

/** What an approval is about, and who asked. Whatever is decided later was decided about these. */
const FIXED = ['entryId', 'requester', 'requesterKind', 'binding', 'createdAt'] as const

function textOf(value: Approval[(typeof FIXED)[number]]): string {
  return canonicalJson(value as unknown as Json)
}

/** What is left of an approval when the payload of its entry is erased (S18); undefined when that is all of it. */
export function erasedApproval(approval: Approval): Approval | undefined {
  const { shown, asked, ...rest } = approval
  if (shown === undefined && asked === undefined) return undefined
  // The revision moves, so that nobody who read it before can bring back what was erased.
  return { ...rest, revision: approval.revision + 1 }
}
