// Short ways to roles, permissions, policies, tools and facts, each with what matters to a test and nothing else.
import { type CallerIdentity, createCaller } from '../../src/contract/caller.ts'
import type { Decision } from '../../src/contract/decision.ts'
import { createRules, type RulesOptions } from '../../src/governance/create-rules.ts'
import type { Facts } from '../../src/governance/rules.ts'
import type {
  GovernanceSet,
  PolicyBudget,
  PolicyRule,
  PolicyTransform,
  ResolvedPolicy,
  ResolvedRole,
  ResolvedToolPermission,
  Targets,
} from '../../src/resource/resolved-governance.ts'
import type { ResolvedTool } from '../../src/resource/resolved-tool.ts'
import type { ToolSpec } from '../../src/resource/tool.ts'
import { resolved } from '../resource/support.ts'

export const EVERYBODY: Targets = { applyMode: 'global', agents: [], systems: [], tasks: [] }

export function scopedTo(...agents: string[]): Targets {
  return { applyMode: 'scoped', agents, systems: [], tasks: [] }
}

export function role(name: string, more: Partial<ResolvedRole> = {}): ResolvedRole {
  return {
    namespace: 'default',
    name,
    version: `1-${name}`,
    description: '',
    permissions: [],
    inherits: [],
    clearance: 'internal',
    ...more,
  }
}

export function permission(more: Partial<ResolvedToolPermission> = {}): ResolvedToolPermission {
  return {
    namespace: 'default',
    name: 'pay',
    version: '1-pay',
    tool: 'pay',
    action: 'invoke',
    requiredPermissions: [],
    matchMode: 'all',
    targets: EVERYBODY,
    operationRules: [],
    approval: { quorum: 1, ttlMs: 600_000 },
    ...more,
  }
}

export function policy(more: Partial<ResolvedPolicy> = {}): ResolvedPolicy {
  return {
    namespace: 'default',
    name: 'guard',
    version: '1-guard',
    mode: 'enforce',
    targets: EVERYBODY,
    targetTools: [],
    blockedTools: [],
    rules: [],
    transforms: [],
    budgets: [],
    approval: { quorum: 1, ttlMs: 600_000 },
    notEnforced: [],
    ...more,
  }
}

export function rule(decision: PolicyRule['decision'], more: Partial<PolicyRule> = {}): PolicyRule {
  return { tools: [], operations: [], operationClasses: [], riskLevels: [], when: [], decision, ...more }
}

export function transform(
  narrow: PolicyTransform['narrow'],
  more: Partial<PolicyTransform> = {},
): PolicyTransform {
  return { tools: [], when: [], narrow, ...more }
}

export function budget(more: Partial<PolicyBudget> = {}): PolicyBudget {
  return { tools: [], per: 'caller', periodMs: 3_600_000, max: 1_000_000, ...more }
}

export function setOf(more: Partial<GovernanceSet> = {}): GovernanceSet {
  return { roles: [], permissions: [], policies: [], ...more }
}

/** A write that nobody has to name, unless `spec` says otherwise. */
export function tool(spec: ToolSpec = {}, name = 'pay'): ResolvedTool {
  return { ...resolved({ effect: { class: 'external-communication' }, ...spec }), name }
}

export const PAYER: CallerIdentity = { actor: 'agent-7', kind: 'agent', permissions: ['tool:pay:invoke'] }

export interface Ask extends Partial<Omit<Facts, 'caller' | 'operation'>> {
  readonly caller?: CallerIdentity
  readonly operation?: string
}

export function facts({
  caller = PAYER,
  operation = 'invoke',
  tool: asked = tool(),
  ...more
}: Ask = {}): Facts {
  const found = asked.operations[operation]
  if (found === undefined) throw new Error(`no operation ${operation}`)
  return { caller: createCaller(caller), tool: asked, operation: found, input: {}, now: 0, also: [], ...more }
}

export function decide(
  set: Partial<GovernanceSet>,
  ask: Ask = {},
  options: Partial<RulesOptions> & { readonly explain?: boolean } = {},
): Decision {
  const { explain = false, ...rest } = options
  return createRules(setOf(set), { profile: 'local', ...rest }).decide(facts(ask), { explain })
}

/** `decision code rule` of everything that matched. */
export function said({ matches }: Decision): string[] {
  return matches.map(
    (one) => `${one.monitored ? 'would ' : ''}${one.decision} ${one.code} ${one.policyId} ${one.rule}`,
  )
}
