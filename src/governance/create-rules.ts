// Compiles what governs one namespace into what is asked about each of its calls.
import type { GovernanceSet } from '../resource/resolved-governance.ts'
import { sha256Base64url } from '../util/canonical.ts'
import { namedBudgets, periodOf } from './budget.ts'
import type { CompiledCedar } from './cedar/cedar.ts'
import { createConcerned } from './concerned.ts'
import { type DecideKit, decide } from './decide.ts'
import { createHeld } from './held.ts'
import type { Facts, Rules } from './rules.ts'
import { createSlices } from './slice.ts'
import { narrowInput, narrowingsOf } from './transform.ts'

export interface RulesOptions {
  readonly profile: 'local' | 'production'
  /** Demanded where a policy has Cedar text: rules that are not asked would not hold. */
  readonly cedar?: CompiledCedar
}

export function createRules(set: GovernanceSet, options: RulesOptions): Rules {
  const withCedar = set.policies.find((policy) => policy.cedar !== undefined)
  if (withCedar !== undefined && options.cedar === undefined)
    throw new Error(
      `AgentPolicy ${withCedar.name} has Cedar text. Fix: compile it, and pass it as options.cedar`,
    )
  const held = createHeld(set.roles)
  const sliceOf = createSlices(set)
  const concerned = createConcerned()
  const budgets = set.policies.flatMap((policy) => (policy.mode === 'monitor' ? [] : namedBudgets(policy)))
  const kit: DecideKit = {
    set,
    profile: options.profile,
    hasBudgets: budgets.length > 0,
    policies: new Map(set.policies.map((policy) => [`AgentPolicy/${policy.name}`, policy])),
    ...(options.cedar === undefined ? {} : { cedar: options.cedar }),
  }

  const concernedBy = (facts: Facts) => concerned(sliceOf(facts.tool, facts.operation), facts)

  return Object.freeze({
    version: versionOfSet(set),
    held,
    reads(facts) {
      // All of them: a Cedar policy may read a budget that takes nothing from this very call.
      if (budgets.length === 0 || options.cedar?.readsSpend(facts) !== true) return []
      return budgets.map((budget) => periodOf(budget, facts))
    },
    decide(facts, { explain = false } = {}) {
      return decide(kit, facts, held(facts.caller), concernedBy(facts), explain)
    },
    narrowed(facts) {
      const { slice, transforms } = concernedBy(facts)
      return narrowInput(facts.input, narrowingsOf(transforms, slice.fields.reader(facts.input)))
    },
  } satisfies Rules)
}

function versionOfSet({ roles, permissions, policies }: GovernanceSet): string {
  const all = [
    ...roles.map(({ name, version }) => `AgentRole/${name}@${version}`),
    ...permissions.map(({ name, version }) => `ToolPermission/${name}@${version}`),
    ...policies.map(({ name, version }) => `AgentPolicy/${name}@${version}`),
  ]
  return sha256Base64url(...all.sort()).slice(0, 16)
}
