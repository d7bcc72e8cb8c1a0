// The rules of what people have to agree to.
import { type Mutation, one } from './mutation.ts'

const APPROVE = 'src/pipeline/approve.ts'
const RULE = 'src/governance/approval-rule.ts'
const RECALL = 'src/pipeline/recall.ts'

export const APPROVAL_MUTATIONS: readonly Mutation[] = [
  one(
    'people-are-asked',
    'S45',
    APPROVE,
    `repeat(state, continued, kit) : byGrantOrPeople(state, kit)`,
    `repeat(state, continued, kit) : advance(state, { approved: true as const })`,
  ),
  one(
    'what-was-approved-is-compared',
    'S45',
    APPROVE,
    `if (changed.length === 0) return advance(state, { approval, approved: true as const })`,
    `if (changed.length >= 0) return advance(state, { approval, approved: true as const })`,
  ),
  one(
    'approvals-are-for-one-policy',
    'S45',
    RULE,
    `look('policy', binding.policyVersion === now.policyVersion)`,
    ``,
  ),
  one(
    'denied-by-policy-when-it-goes-on',
    'S36',
    'src/pipeline/authorize.ts',
    `if (decision.kind === 'deny') {`,
    `if (decision.kind === 'deny' && state.resumed === undefined) {`,
    'what goes on is decided about once more, as if it were asked for now',
  ),
  one(
    'approvals-are-used-up',
    'S45',
    'src/pipeline/use-approval.ts',
    `...(state.approval === undefined ? {} : usedUp(state.approval, kit)),`,
    ``,
  ),
  {
    name: 'decisions-are-made-one-after-the-other',
    rule: 'S45',
    note: 'both lines of it in the store: the revision, and the moves that there are',
    edits: [
      {
        file: 'src/store/sqlite/approval-writer.ts',
        find: `if (found === undefined || found[3] !== revision - 1) return CONFLICT`,
        replace: `if (found === undefined || revision < 0) return CONFLICT`,
      },
      {
        file: 'src/store/approval-rule.ts',
        find: `if (!APPROVAL_MOVES[found.state].includes(next.state))`,
        replace: `if (!APPROVAL_MOVES[found.state].includes(next.state) && next.revision < 0)`,
      },
    ],
  },
  {
    name: 'only-what-was-approved-goes-on',
    rule: 'S45',
    note: 'the timer of a question is due when its time is over, too; and the store knows the moves',
    edits: [
      {
        file: 'src/driver/approval.ts',
        find: `if (approval?.state !== 'approved' || approval.expiresAt <= kit.steadyNow()) {`,
        replace: `if (approval === undefined) {`,
      },
      {
        file: RECALL,
        find: `if (agreed?.state !== 'approved') return`,
        replace: `if (agreed === undefined) return`,
      },
      {
        file: APPROVE,
        find: `if (approval.expiresAt <= kit.steadyNow()) {`,
        replace: `if (approval.expiresAt <= 0) {`,
      },
      {
        file: 'src/store/approval-rule.ts',
        find: `if (!APPROVAL_MOVES[found.state].includes(next.state))`,
        replace: `if (!APPROVAL_MOVES[found.state].includes(next.state) && next.revision < 0)`,
      },
    ],
  },
  one(
    'one-denial-denies',
    'S45',
    RULE,
    `if (decisions.some(({ decision }) => decision === 'denied')) return 'denied'`,
    ``,
  ),
  one(
    'as-many-people-as-it-needs',
    'S45',
    RULE,
    `return Math.min(people.size, hands.size) >= quorum`,
    `return Math.min(people.size, hands.size) >= 1`,
  ),
  one(
    'nobody-decides-about-its-own',
    'S45',
    RULE,
    `if (isRequester(approval, actor)) return self(`,
    `if (isRequester(approval, actor) && actor === '') return self(`,
  ),
  one(
    'what-was-denied-stays-denied',
    'S16',
    RECALL,
    `return approvalId !== undefined && attempts === 0 && failure.id !== 'approval-denied'`,
    `return approvalId !== undefined && attempts === 0`,
  ),
  one(
    'approved-goes-on-by-itself',
    'S45',
    'src/pipeline/decide-approval.ts',
    `state === 'approved' ? [{ kind: 'approval', subject: next.entryId, inMs: 0, data: {} }] : [],`,
    `[],`,
  ),
  one(
    'who-joined-learns-what-it-had-joined',
    'S16',
    'src/pipeline/joined-result.ts',
    `if (answer?.final !== true) return`,
    `if (answer !== null) return`,
  ),
  one(
    'grants-count-their-uses',
    'S45',
    'src/pipeline/use-approval.ts',
    `const spends = [...state.decision.spends, ...grantUse(state)]`,
    `const spends = [...state.decision.spends]`,
  ),
  one('a-grant-is-no-quorum', 'S45', 'src/governance/grant.ts', `need.quorum === 1 &&`, ``),
]
