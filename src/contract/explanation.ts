// Why governance would answer a call as it does, and what would have to change: for programs and for people.
import { isJsonObject, type JsonObject } from '../util/json.ts'
import type { DecisionKind } from './decision.ts'

/** `error`: the call would end before or beside any decision. */
export type ExplainedDecision = DecisionKind | 'error'

export interface ExplainedRule {
  readonly policy_id: string
  readonly policy_version: string
  readonly rule: string
}

/** What decided, as the stage `authorize` tells it. */
export interface Governing {
  /** Before anybody was asked whether it is covered by a grant, or whether there is room for the call. */
  readonly decision: DecisionKind
  readonly policy_version: string
  readonly matched: readonly (ExplainedRule & {
    readonly decision: DecisionKind
    readonly code: string
    readonly reason: string
    /** It only says what it would have done. */
    readonly monitored?: true
  })[]
  /** One clause away from matching. */
  readonly near: readonly (ExplainedRule & { readonly decision: DecisionKind; readonly missed: string })[]
  /** Cedar policies that were not looked at for `near`, because there are too many. */
  readonly near_unchecked?: number
  readonly needs: readonly {
    readonly role?: string
    readonly quorum: number
    readonly escalated?: true
  }[]
  readonly narrowed: readonly (ExplainedRule & {
    readonly kind: 'clamp' | 'drop' | 'dry_run'
    readonly field: string
  })[]
  readonly budgets: readonly {
    readonly budget: string
    readonly amount: number
    readonly max: number
    readonly resets_at: string
  }[]
}

/** Undefined where no rule was asked: the call ended before. */
export function governingOf(authorize: JsonObject | undefined): Governing | undefined {
  return authorize !== undefined && Array.isArray(authorize.matched)
    ? (authorize as unknown as Governing)
    : undefined
}

/** One sentence for each thing that stands between the call and its being sent at once. */
export function changesNeeded(
  decision: ExplainedDecision,
  governing: Governing | undefined,
  details: JsonObject = {},
): readonly string[] {
  if (decision === 'allow' || decision === 'transform') return []
  const missing = Array.isArray(details.missing) ? details.missing.map(String) : []
  const first = missing.map((permission) =>
    permission.startsWith('role:')
      ? `declare the AgentRole '${permission.slice('role:'.length)}', or use a caller without it`
      : `give the caller ${permission}, by a role or in its token`,
  )
  if (governing === undefined) return [...first, ...frozen(details)]
  const rules = governing.matched
    .filter((match) => match.monitored !== true && match.decision === decision)
    .map((match) => `${nameOf(match)} must no longer ${VERBS[decision]}: ${match.reason}`)
  const permits = governing.matched
    .filter((match) => match.monitored !== true && match.code === 'cedar-not-permitted')
    .flatMap(({ policy_id }) =>
      governing.near.filter((one) => one.policy_id === policy_id && isCedarPermit(one)),
    )
    .map((one) => `or ${nameOf(one)} must match: ${one.missed}`)
  const people = governing.needs.map(
    ({ role, quorum }) =>
      `or ${quorum} ${role === undefined ? 'who may decide' : `of role ${role}`} must agree`,
  )
  return [...first, ...new Set(rules), ...new Set(permits), ...new Set(people)]
}

const VERBS: Readonly<Record<ExplainedDecision, string>> = Object.freeze({
  allow: 'allow',
  transform: 'narrow',
  'require-approval': 'ask for approval',
  escalate: 'escalate',
  deny: 'deny',
  error: 'fail',
})

function isCedarPermit({ rule, decision }: Governing['near'][number]): boolean {
  return decision === 'allow' && rule.startsWith('cedar:')
}

export function nameOf({ policy_id, rule }: ExplainedRule): string {
  return `${policy_id} ${rule}`
}

function frozen(details: JsonObject): readonly string[] {
  return typeof details.frozen === 'string' ? [`thaw ${details.frozen.replace(':', ' ')}`] : []
}

/** What the stage that decides said, where it was reached. */
export function authorizeDetails(
  stages: readonly { readonly stage: string; readonly details: JsonObject }[],
): JsonObject | undefined {
  const details = stages.find(({ stage }) => stage === 'authorize')?.details
  return isJsonObject(details) ? details : undefined
}
