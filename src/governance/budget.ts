// What budgets take from a call: whole millionths in fixed windows that begin at the epoch, so that sums are exact and all
// replicas agree on when a period ends (S38).
import type { Spend } from '../contract/decision.ts'
import type { PolicyBudget, ResolvedPolicy } from '../resource/resolved-governance.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import { parseDecimal } from '../util/decimal.ts'
import type { Json } from '../util/json.ts'
import type { Found } from './found.ts'
import { matchesNames } from './name-pattern.ts'
import { matchOf } from './policy-rule.ts'
import type { FieldList, Reader } from './reading.ts'
import type { Facts } from './rules.ts'

const MILLION = 1_000_000

export interface NamedBudget {
  readonly policy: ResolvedPolicy
  readonly rule: string
  /** `POLICY#INDEX`. */
  readonly name: string
  readonly budget: PolicyBudget
}

export interface CompiledBudget extends NamedBudget {
  /** The number of the field that is summed up; absent: calls are counted. */
  readonly field?: number
}

export function compileBudgets(
  policy: ResolvedPolicy,
  tool: ResolvedTool,
  fields: FieldList,
): readonly CompiledBudget[] {
  if (!matchesNames(policy.targetTools, tool.name)) return []
  return namedBudgets(policy).flatMap((named): CompiledBudget[] => {
    const { tools, sum } = named.budget
    if (!matchesNames(tools, tool.name)) return []
    return [sum === undefined ? named : { ...named, field: fields.indexOf(sum) }]
  })
}

/** All budgets of a policy, whatever they are about. */
export function namedBudgets(policy: ResolvedPolicy): readonly NamedBudget[] {
  return policy.budgets.map((budget, index) => {
    return { policy, rule: `budgets[${index}]`, name: `${policy.name}#${index}`, budget }
  })
}

type Asking = Pick<Facts, 'caller' | 'tool' | 'now'>

/** The period that a call falls into, with nothing taken from it. */
export function periodOf({ name, budget }: NamedBudget, { caller, tool, now }: Asking): Spend {
  const from = Math.floor(now / budget.periodMs) * budget.periodMs
  const subject = budget.per === 'tool' ? tool.name : caller.actor
  return { budget: name, subject, from, until: from + budget.periodMs, amount: 0, max: budget.max }
}

/** What it takes, or why it denies. A budget of a policy in monitor mode is not counted: it only says what it can see. */
export function spendOf(
  compiled: CompiledBudget,
  facts: Asking,
  reader: Reader,
): { readonly spend?: Spend; readonly found?: Found } {
  const { policy, rule, budget, field } = compiled
  const amount = field === undefined ? MILLION : millionths(reader.read(field))
  if (amount === undefined) {
    const reason = `AgentPolicy ${policy.name} sums up ${budget.sum}, which is no amount here`
    return { found: { match: matchOf(policy, rule, { decision: 'deny', code: 'budget-unjudged', reason }) } }
  }
  if (policy.mode === 'monitor') {
    if (amount <= budget.max) return {}
    const reason = `AgentPolicy ${policy.name} has less than this call takes for a whole period`
    return { found: { match: matchOf(policy, rule, { decision: 'deny', code: 'budget-exceeded', reason }) } }
  }
  return { spend: { ...periodOf(compiled, facts), amount } }
}

/**
 * Exact by the digits that the number is written in: 0.1 is 100,000 millionths. What is finer than a millionth is rounded
 * up, so that no number of calls gets it for nothing. Undefined for what is no amount.
 */
export function millionths(value: Json | undefined): number | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return undefined
  if (value > Number.MAX_SAFE_INTEGER / MILLION) return undefined
  if (Number.isInteger(value)) return value * MILLION
  const { digits, exponent } = parseDecimal(String(value))
  const places = exponent + 6
  if (places >= 0) return Number(digits + '0'.repeat(places))
  const whole = digits.slice(0, Math.max(0, digits.length + places))
  return Number(whole === '' ? '0' : whole) + 1
}
