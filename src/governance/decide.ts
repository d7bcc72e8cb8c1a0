// Asks everything that is about a call, and combines the answers.
import type { Decision, RuleMatch, Spend } from '../contract/decision.ts'
import { isReadOnly } from '../contract/effect.ts'
import { needsApprovalRule } from '../resource/approval-cover.ts'
import type { GovernanceSet, ResolvedPolicy } from '../resource/resolved-governance.ts'
import type { Json } from '../util/json.ts'
import { spendOf } from './budget.ts'
import type { CompiledCedar } from './cedar/cedar.ts'
import { isCleared } from './clearance.ts'
import { combine } from './combine.ts'
import type { Concerned } from './concerned.ts'
import type { Found } from './found.ts'
import type { HeldNow } from './held.ts'
import { nearOf } from './near.ts'
import { foundLacking, lacking } from './operation-rule.ts'
import { invokes, type Permission, permit, wildcardsCount } from './permit.ts'
import type { Reader } from './reading.ts'
import type { ReasonCode } from './reason-code.ts'
import type { Facts } from './rules.ts'
import type { Slice } from './slice.ts'
import { narrowInput, narrowingsOf } from './transform.ts'

export interface DecideKit {
  readonly set: GovernanceSet
  readonly profile: 'local' | 'production'
  readonly hasBudgets: boolean
  readonly policies: ReadonlyMap<string, ResolvedPolicy>
  readonly cedar?: CompiledCedar
}

export function decide(
  kit: DecideKit,
  facts: Facts,
  held: HeldNow,
  concerned: Concerned,
  explain: boolean,
): Decision {
  const permission = permit(facts.caller, facts.tool, held)
  // S41: who may not call the tool learns nothing of what else would have been said about it.
  if (permission.kind === 'denied') {
    const found = [{ match: notPermitted(permission, held) }]
    return combine({ found, near: [], narrowings: [], spends: [], fields: [], policyVersion: held.version })
  }
  const { slice, policyVersion } = concerned
  const asked = slice.fields.reader(facts.input)
  const narrowed = narrowingsOf(concerned.transforms, asked)
  const input = narrowInput(facts.input, narrowed)
  const changed = input !== facts.input
  const sent = changed ? slice.fields.reader(input) : asked
  // A set: what holds for the input as asked and as sent is one match.
  const found = new Set<Found>(fixed(facts, held, concerned))
  matchRules(concerned, asked, found)
  if (changed) matchRules(concerned, sent, found)
  for (const one of narrowed.found) found.add(one)
  for (const one of cedarFound(kit, facts, slice, changed ? [facts.input, input] : [facts.input]))
    found.add(one)
  for (const match of facts.also) found.add({ match, approval: facts.tool.approval })
  if (kit.profile === 'production' && isUncovered(kit, facts, concerned))
    found.add(approvalRuleMissing(facts))
  const spends: Spend[] = []
  for (const budget of concerned.budgets) {
    const { spend, found: refused } = spendOf(budget, facts, sent)
    if (spend !== undefined) spends.push(spend)
    if (refused !== undefined) found.add(refused)
  }
  const cedarNear = explain ? kit.cedar?.near(withSpent(kit, facts)) : undefined
  const near = explain ? [...nearOf(kit.set, facts), ...(cedarNear?.near ?? [])] : []
  return combine({
    found: [...found],
    near,
    ...(cedarNear === undefined ? {} : { unchecked: cedarNear.unchecked }),
    narrowings: narrowed.narrowings,
    spends,
    fields: fieldsOf(slice),
    policyVersion,
  })
}

function fieldsOf({ fields, hasCedar }: Slice): readonly string[] {
  return hasCedar ? ['', ...fields.pointers] : fields.pointers
}

/** What does not depend on the input. */
function fixed(facts: Facts, held: HeldNow, { permissions, blocked }: Concerned): Found[] {
  const { caller, tool } = facts
  const found: Found[] = [{ match: permitted(facts, held) }]
  const wildcards = wildcardsCount(caller, tool)
  for (const { permission, found: verdicts } of permissions) {
    const missing = lacking(permission, held, wildcards)
    if (missing !== undefined) found.push(foundLacking(permission, missing, caller.actor))
    found.push(...verdicts)
  }
  found.push(...blocked)
  if (!isCleared(held, tool)) found.push({ match: withheld(facts, held) })
  return found
}

function matchRules({ rules }: Concerned, reader: Reader, found: Set<Found>): void {
  for (const index of rules) index.match(reader, found)
}

/** Cedar, too, is asked about the input as it is asked for and, where that differs, about the one that would be sent. */
function cedarFound(
  kit: DecideKit,
  facts: Facts,
  slice: Slice,
  inputs: readonly (Json | undefined)[],
): Iterable<Found> {
  const { cedar } = kit
  if (cedar === undefined || !slice.hasCedar) return []
  const known = withSpent(kit, facts)
  const matches = inputs.flatMap((input) => cedar.matches({ ...known, input }))
  const found = new Map<string, Found>()
  for (const { retryAfterMs, ...match } of matches) {
    const policy = kit.policies.get(match.policyId)
    found.set(`${match.policyId} ${match.rule} ${match.decision}`, {
      match,
      ...(policy === undefined ? {} : { approval: policy.approval }),
      ...(policy?.escalateTo === undefined ? {} : { escalateTo: policy.escalateTo }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    })
  }
  return found.values()
}

/** Without budgets nothing can have been taken, and nobody was asked what was. */
function withSpent({ hasBudgets }: DecideKit, facts: Facts): Facts {
  return hasBudgets ? facts : { ...facts, spent: new Map<string, number>() }
}

/** A rule that is about other callers does not help this one. */
function isUncovered({ cedar }: DecideKit, facts: Facts, { asks, slice }: Concerned): boolean {
  if (asks || !needsApprovalRule(facts.tool, facts.operation)) return false
  return !(slice.hasCedar && cedar?.asks(facts) === true)
}

function approvalRuleMissing({ tool, operation }: Facts): Found {
  const reason = `operation ${operation.name} of ${tool.name} is ${operation.effect.class}, and no approval rule concerns this caller; production demands one, or spec.approval_waiver`
  const code: ReasonCode = 'approval-rule-missing'
  return {
    match: {
      policyId: `Tool/${tool.name}`,
      policyVersion: tool.version,
      rule: 'approval',
      decision: 'deny',
      code,
      reason,
    },
  }
}

function notPermitted(permission: Extract<Permission, { kind: 'denied' }>, held: HeldNow): RuleMatch {
  const { code, missing, why } = permission
  return {
    policyId: 'permissions',
    policyVersion: held.version,
    rule: missing.join(' '),
    decision: 'deny',
    code,
    reason: why,
  }
}

function permitted({ caller, tool }: Facts, held: HeldNow): RuleMatch {
  const rule = invokes(tool.name)
  const code: ReasonCode = 'permitted'
  const reason = `${caller.actor} holds ${rule} and what else the tool asks for`
  return { policyId: 'permissions', policyVersion: held.version, rule, decision: 'allow', code, reason }
}

/** A read is for its output, so it is refused; a write runs, and its output is dropped. */
function withheld({ tool, operation }: Facts, held: HeldNow): RuleMatch {
  const code: ReasonCode = 'output-withheld'
  const decision = isReadOnly(operation.effect) ? 'deny' : 'allow'
  const reason = `what ${tool.name} returns is ${tool.dataClassification}, and the caller is cleared for ${held.clearance} only`
  return { policyId: 'permissions', policyVersion: held.version, rule: 'clearance', decision, code, reason }
}
