// One answer out of everything that matched: the strictest wins, and no order of rules changes it (S42).
import {
  type ApprovalNeed,
  DECISIONS,
  type Decision,
  type DecisionKind,
  type Narrowing,
  type RuleMatch,
  type RuleNear,
  type Spend,
  stricter,
} from '../contract/decision.ts'
import { DEFAULT_APPROVAL, type Found } from './found.ts'

export interface Combined {
  readonly found: readonly Found[]
  readonly near: readonly RuleNear[]
  readonly unchecked?: number
  readonly narrowings: readonly Narrowing[]
  readonly spends: readonly Spend[]
  readonly fields: readonly string[]
  readonly policyVersion: string
}

export function combine(combined: Combined): Decision {
  const { found, near, unchecked = 0, narrowings, spends, fields, policyVersion } = combined
  // Monitored policies only say.
  const enforced = found.filter(({ match }) => match.monitored !== true)
  const kind = enforced.reduce<DecisionKind>((so, { match }) => stricter(so, match.decision), 'allow')
  const runs = kind !== 'deny'
  const asking = runs ? enforced.filter(({ match }) => isAsking(match.decision)) : []
  const retryAfterMs = runs ? undefined : retryAfter(enforced)
  return {
    kind,
    matches: found.map(({ match }) => match).sort(strictestFirst),
    near,
    ...(unchecked === 0 ? {} : { unchecked }),
    needs: joinNeeds(asking.map(needOf)),
    ttlMs: asking.reduce(
      (so, { approval = DEFAULT_APPROVAL }) => Math.min(so, approval.ttlMs),
      longest(asking),
    ),
    narrowings: runs ? narrowings : [],
    spends: runs && !narrowings.some((one) => one.kind === 'dry_run') ? spends : [],
    fields,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    policyVersion,
  }
}

/** The first of the rules that made the decision what it is; undefined where nothing did. */
export function strictest({ kind, matches }: Decision): RuleMatch | undefined {
  return matches.find((match) => match.monitored !== true && match.decision === kind)
}

function isAsking(decision: DecisionKind): boolean {
  return decision === 'require-approval' || decision === 'escalate'
}

function longest(asking: readonly Found[]): number {
  return asking.length === 0 ? DEFAULT_APPROVAL.ttlMs : Number.POSITIVE_INFINITY
}

function needOf({ match, approval = DEFAULT_APPROVAL, escalateTo }: Found): ApprovalNeed {
  const escalated = match.decision === 'escalate'
  const role = escalated ? (escalateTo ?? approval.role) : approval.role
  const { quorum } = approval
  return { ...(role === undefined ? {} : { role }), quorum, ...(escalated ? { escalated } : {}) }
}

/** One need per role and kind, with the highest quorum that is asked for. */
function joinNeeds(all: readonly ApprovalNeed[]): readonly ApprovalNeed[] {
  const needs = new Map<string, ApprovalNeed>()
  for (const need of all) {
    const key = `${need.escalated === true ? 'escalated' : 'approval'} ${need.role ?? ''}`
    needs.set(key, { ...need, quorum: Math.max(need.quorum, needs.get(key)?.quorum ?? 1) })
  }
  return [...needs].sort(([one], [other]) => compare(one, other)).map(([, need]) => need)
}

/** Only where every denial passes by itself, and then the longest: coming back earlier would be denied again. */
function retryAfter(enforced: readonly Found[]): number | undefined {
  let longest = 0
  for (const { match, retryAfterMs } of enforced) {
    if (match.decision !== 'deny') continue
    if (retryAfterMs === undefined) return undefined
    longest = Math.max(longest, retryAfterMs)
  }
  return longest
}

/** What is enforced before what only says; then by strictness, then by name. */
function strictestFirst(one: RuleMatch, other: RuleMatch): number {
  return (
    Number(one.monitored === true) - Number(other.monitored === true) ||
    DECISIONS.indexOf(other.decision) - DECISIONS.indexOf(one.decision) ||
    compare(
      `${one.policyId}\n${one.rule}\n${one.reason}`,
      `${other.policyId}\n${other.rule}\n${other.reason}`,
    )
  )
}

function compare(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}
