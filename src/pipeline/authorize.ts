// Stage 5: these very arguments. In this order: decide, narrow, validate again (S43); what was decided explains itself.
import type { Decision, RuleMatch, Spend } from '../contract/decision.ts'
import { type Entry, inlineOf, sentPayloadOf } from '../contract/entry.ts'
import type { FailureFacts } from '../contract/projection.ts'
import { CedarFailed } from '../governance/cedar/cedar.ts'
import type { Facts, Rules } from '../governance/rules.ts'
import { serialize } from '../ledger/fingerprint.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import type { Json, JsonObject } from '../util/json.ts'
import type { Kit } from './kit.ts'
import { blocked, COMPENSATION } from './recall.ts'
import { refuse } from './result.ts'
import { advance, type Granted, type SentInput, type StageResult, type Valid } from './stages.ts'
import { type Standing, standingOf } from './standing.ts'
import { MILLION } from './use-approval.ts'

export function authorize(state: Valid, kit: Kit): StageResult<Granted> | Promise<StageResult<Granted>> {
  const standing = standingOf(state.caller, kit)
  const facts = factsOf(state, standing, kit)
  const reads = standing.rules.reads(facts)
  if (reads.length === 0) {
    const granted = grant(state, facts, standing.rules, kit)
    // Everybody else is told by the intent, which is where budgets are held to.
    return state.call.dryRun && granted.kind === 'ok' ? withinBudgets(granted.state, kit) : granted
  }
  return kit.ledger
    .spent(state.caller.namespace, reads)
    .then((spent) => grant(state, { ...facts, spent }, standing.rules, kit))
}

/** S17: a dry run spends nothing, and is told whether there would be enough. */
async function withinBudgets(state: Granted, kit: Kit): Promise<StageResult<Granted>> {
  const { spends } = state.decision
  if (spends.length === 0) return { kind: 'ok', state }
  const spent = await kit.ledger.spent(state.caller.namespace, spends)
  const over = spends.find(({ budget, amount, max }) => (spent.get(budget) ?? 0) + amount > max)
  return over === undefined ? { kind: 'ok', state } : overBudget(state, over)
}

export function overBudget(state: Granted, { budget, until, max }: Spend): StageResult<never> {
  return refuse(state, 'quota-exhausted', {
    message: `the budget ${budget} is spent`,
    details: { code: 'budget-spent', budget, max: max / MILLION, resets_at: new Date(until).toISOString() },
  })
}

export function factsOf(state: Valid, { caller }: Standing, kit: Kit): Facts {
  const { call, target, operation, undoes } = state
  return {
    caller,
    ...(call.agent === undefined ? {} : { agent: call.agent }),
    ...(call.taskId === undefined ? {} : { taskId: call.taskId }),
    tool: target.tool,
    operation,
    input: state.input,
    now: kit.steadyNow(),
    also: undoes?.needsApproval === true ? [undoNeedsApproval(undoes.entryId)] : [],
  }
}

function undoNeedsApproval(entryId: string): RuleMatch {
  return {
    policyId: COMPENSATION,
    policyVersion: '1',
    rule: 'requires_approval',
    decision: 'require-approval',
    code: 'compensation-approval',
    reason: `undoing what entry ${entryId} did needs approval`,
  }
}

function grant(state: Valid, facts: Facts, rules: Rules, kit: Kit): StageResult<Granted> {
  const decided = decideOr(state, facts, rules)
  if ('kind' in decided && decided.kind === 'end') return decided
  const decision = decided as Decision
  const decisionId = kit.world.id()
  noteMonitored(state, decision, decisionId, kit)
  if (decision.kind === 'deny') {
    // An explanation, and the evidence, say what a denial was made by.
    Object.assign(state, { decision, decisionId })
    return deniedBy(state, decision, decisionId)
  }
  const granted = { facts, decision, decisionId, rulesVersion: rules.version }
  if (decision.narrowings.length > 0) return narrow(state, rules.narrowed(facts), granted)
  return isSentOtherwise(state.continued, state.payloadText)
    ? sentOtherwise(state, state.continued)
    : advance(state, granted)
}

/** What a policy in monitor mode would have done is on record, and changes nothing. */
function noteMonitored(state: Valid, decision: Decision, decisionId: string, kit: Kit): void {
  if (state.call.dryRun) return
  const would = decision.matches.filter((match) => match.monitored && match.decision !== 'allow')
  if (would.length === 0) return
  const body = {
    decision_id: decisionId,
    actor: state.caller.actor,
    tool: state.call.tool,
    operation: state.call.operation,
    decided: decision.kind,
    would: would.map(({ policyId, policyVersion, rule, decision: kind, code }) => ({
      policy_id: policyId,
      policy_version: policyVersion,
      rule,
      decision: kind,
      code,
    })),
  }
  kit.ledger
    .noteFact(state.caller.namespace, state.call.id, { type: 'decision.monitored', body })
    .catch(onlyUnavailable)
}

/** A rule that cannot be judged decides nothing: the call fails, and may be tried again (S42). */
function decideOr(state: Valid, facts: Facts, rules: Rules): Decision | StageResult<never> {
  try {
    return rules.decide(facts, { explain: state.reports !== undefined })
  } catch (error) {
    if (!(error instanceof CedarFailed)) throw error
    return refuse(state, 'policy-unavailable', { message: error.message })
  }
}

/** The rule that made the decision what it is comes first, and is named. */
export function deniedBy(state: Valid, decision: Decision, decisionId: string): StageResult<never> {
  const [first] = decision.matches
  const withheld = first?.code === 'output-withheld'
  return refuse(state, withheld ? 'output-withheld' : 'permission-denied', denialFacts(decision, decisionId))
}

export function denialFacts(decision: Decision, decisionId: string): FailureFacts {
  const [first] = decision.matches
  const { retryAfterMs } = decision
  return {
    message: first?.reason ?? 'denied by policy',
    details: {
      code: first?.code ?? 'denied',
      missing: [],
      policy_ref: policyRef(decision, decisionId),
      reasons: reasonsOf(decision),
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
    },
    // A policy may say that its denial passes; Writ itself never tries again (S45).
    ...(retryAfterMs === undefined ? {} : { said: { retryable: true, counts: true } }),
  }
}

export function policyRef(decision: Decision, decisionId: string): JsonObject {
  const [first] = decision.matches
  return {
    policy_id: first?.policyId ?? 'permissions',
    policy_version: first?.policyVersion ?? decision.policyVersion,
    decision_id: decisionId,
    ...(first === undefined ? {} : { rule: first.rule }),
  }
}

/** What people are told of a decision: the reasons that count for it, each once. */
export function reasonsOf(decision: Decision): readonly string[] {
  const counts = decision.matches.filter((match) => !match.monitored && match.decision === decision.kind)
  return [...new Set(counts.map((match) => match.reason))]
}

/** S43: what policy made of it must still be what the tool takes. */
function narrow(
  state: Valid,
  input: Json | undefined,
  granted: Pick<Granted, 'facts' | 'decision' | 'decisionId' | 'rulesVersion'>,
): StageResult<Granted> {
  const { decision, decisionId } = granted
  const narrowed: SentInput = { input, payloadText: serialize(input) }
  const { continued } = state
  if (isSentOtherwise(continued, narrowed.payloadText)) return sentOtherwise(state, continued)
  const violations = state.target.inputs.get(state.operation.name)?.check(input ?? null) ?? []
  if (violations.length > 0) {
    return refuse(state, 'transform-invalid', {
      message: `what policy made of the input is not valid: ${violations[0]?.path || '/'}: ${violations[0]?.message}`,
      details: {
        policy_ref: policyRef(decision, decisionId),
        violations: violations.map(({ path, message }) => ({ path, message })),
      },
    })
  }
  for (const { kind, field, policyId } of decision.narrowings) {
    const what =
      kind === 'dry_run'
        ? 'only a dry run is made'
        : `${field} was ${kind === 'drop' ? 'left out' : 'bounded'}`
    state.warnings.push(`${policyId}: ${what}`)
  }
  if (decision.narrowings.some(({ kind }) => kind === 'dry_run')) {
    const dried = state.call.dryRun ? {} : { dried: true as const }
    Object.assign(state, { ...dried, call: { ...state.call, dryRun: true }, reports: state.reports ?? [] })
  }
  return advance(state, { ...granted, narrowed })
}

/** What may have had its effect is repeated as it was, or not at all (S22). */
function isSentOtherwise(continued: Entry | undefined, text: string): continued is Entry {
  return continued?.state === 'unknown' && serialize(inlineOf(sentPayloadOf(continued))) !== text
}

function sentOtherwise(state: Valid, continued: Entry): StageResult<never> {
  return blocked(
    state,
    continued,
    'policy would now make something else of what was sent, so it is not sent again',
  )
}
