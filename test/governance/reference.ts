// A second reading of S41 to S45, without an index, a compiler or a shortcut: every rule is asked in turn and raises its
// voice, and the loudest voice is the answer. Slow and plain on purpose; it shares no code with src/governance.
import type { Facts } from '../../src/governance/rules.ts'
import type {
  GovernanceSet,
  ResolvedPolicy,
  ResolvedToolPermission,
  Targets,
} from '../../src/resource/resolved-governance.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'

export const VOICES = ['allow', 'transform', 'require-approval', 'escalate', 'deny'] as const
export type Voice = (typeof VOICES)[number]

const HEAVY = /^(irreversible|financial-high-impact|administrative)$/
const CLEARANCES = ['public', 'internal', 'confidential', 'restricted']

export function referenceDecision(set: GovernanceSet, facts: Facts, profile: 'local' | 'production'): Voice {
  const voices: Voice[] = ['allow']
  const roles = walkRoles(set, facts.caller.roles)
  if (roles === 'missing') return 'deny'
  const grants = [...facts.caller.permissions, ...roles.flatMap((one) => one.permissions)]
  const heavyTool = Object.values(facts.tool.operations).some((one) => HEAVY.test(one.effect.class))
  const may = (wanted: string) =>
    grants.some((grant) => (heavyTool ? grant === wanted : fits(grant, wanted))) &&
    (facts.caller.scopes === undefined || facts.caller.scopes.some((scope) => fits(scope, wanted)))

  if (!may(`tool:${facts.tool.name}:invoke`)) return 'deny'
  if (!facts.tool.capabilities.every((one) => may(`capability:${one}`))) return 'deny'
  if (facts.tool.permissionClass !== undefined && !may(`class:${facts.tool.permissionClass}`)) return 'deny'

  const own = facts.caller.roles.map((name) => set.roles.find((one) => one.name === name)?.clearance ?? '')
  const cleared = own.length === 0 ? 1 : Math.max(...own.map((one) => CLEARANCES.indexOf(one)))
  const tooHigh = CLEARANCES.indexOf(facts.tool.dataClassification) > cleared
  if (tooHigh && facts.operation.effect.repeat === 'read') voices.push('deny')

  for (const one of set.permissions) voices.push(...voicesOfPermission(one, facts, may))
  for (const one of set.policies) if (one.mode === 'enforce') voices.push(...voicesOfPolicy(one, facts))
  for (const trigger of facts.operation.approvalTriggers)
    if (maybe(trigger, facts.input)) voices.push('require-approval')
  for (const also of facts.also) voices.push(also.decision)

  if (profile === 'production' && HEAVY.test(facts.operation.effect.class)) {
    const waived = facts.tool.approvalWaiver !== undefined
    if (!waived && !somebodyMayAsk(set, facts)) voices.push('deny')
  }
  return VOICES[Math.max(...voices.map((voice) => VOICES.indexOf(voice)))] as Voice
}

function walkRoles(set: GovernanceSet, names: readonly string[], seen: readonly string[] = []) {
  const found: GovernanceSet['roles'][number][] = []
  for (const name of names) {
    if (seen.includes(name)) continue
    const role = set.roles.find((one) => one.name === name)
    if (role === undefined) return 'missing' as const
    const inherited: ReturnType<typeof walkRoles> = walkRoles(set, role.inherits, [...seen, name])
    if (inherited === 'missing') return 'missing' as const
    found.push(role, ...inherited)
  }
  return found
}

function fits(grant: string, wanted: string): boolean {
  const match = /^([a-z]+:)([^*]*)\*(:[a-z]+)?$/.exec(grant)
  if (match === null) return grant === wanted
  const [, kind = '', stem = '', action = ''] = match
  if (kind === 'tool:' && action === '') return false
  return wanted.startsWith(kind + stem) && wanted.endsWith(action)
}

function meant(targets: Targets, { caller, agent, taskId }: Facts): boolean {
  if (targets.applyMode === 'global') return true
  const like = (patterns: readonly string[], name: string | undefined) =>
    patterns.some((one) => name !== undefined && glob(one, name))
  return [
    like(targets.agents, caller.actor),
    like(targets.agents, agent),
    like(targets.systems, caller.system),
    like(targets.tasks, taskId),
  ].includes(true)
}

function glob(pattern: string, name: string): boolean {
  return new RegExp(`^${pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/\*$/, '.*')}$`, 's').test(name)
}

const about = (patterns: readonly string[], name: string): boolean =>
  patterns.length === 0 || patterns.some((one) => glob(one, name))

function voicesOfPermission(
  one: ResolvedToolPermission,
  facts: Facts,
  may: (wanted: string) => boolean,
): Voice[] {
  if (one.tool !== facts.tool.name || !meant(one.targets, facts)) return []
  const voices: Voice[] = []
  const held = one.requiredPermissions.map(may)
  if (held.length > 0 && !(one.matchMode === 'all' ? !held.includes(false) : held.includes(true)))
    voices.push('deny')
  for (const { operationClass, verdict } of one.operationRules) {
    if (operationClass !== '*' && !facts.operation.classes.includes(operationClass)) continue
    voices.push(verdict === 'approval_required' ? 'require-approval' : verdict)
  }
  return voices
}

function voicesOfPolicy(one: ResolvedPolicy, facts: Facts): Voice[] {
  if (!meant(one.targets, facts)) return []
  const voices: Voice[] = []
  if (one.blockedTools.length > 0 && about(one.blockedTools, facts.tool.name)) voices.push('deny')
  if (!about(one.targetTools, facts.tool.name)) return voices
  for (const rule of one.rules) if (clausesFit(rule, facts, true)) voices.push(rule.decision)
  return voices
}

function clausesFit(rule: ResolvedPolicy['rules'][number], facts: Facts, conditions: boolean): boolean {
  const { tool, operation, input } = facts
  const { operationClasses, riskLevels } = rule
  return (
    about(rule.tools, tool.name) &&
    about(rule.operations, operation.name) &&
    (operationClasses.length === 0 || operation.classes.some((one) => operationClasses.includes(one))) &&
    (riskLevels.length === 0 || riskLevels.includes(tool.riskLevel)) &&
    // An allowing rule changes no answer, so how sure it has to be does not matter here.
    (!conditions || rule.when.every((condition) => maybe(condition, input)))
  )
}

/** True unless it is certainly false. Knows the comparisons that the tests use, on fields at the top. */
function maybe(
  { field, op, value }: { field: string; op: string; value?: Json },
  input: Json | undefined,
): boolean {
  const object = (typeof input === 'object' && input !== null ? input : {}) as JsonObject
  const actual = object[field.slice(1)]
  if (op === 'exists') return (actual === undefined) === (value === false)
  if (op === 'eq') return actual === value
  if (op === 'gt') return typeof actual !== 'number' || typeof value !== 'number' || actual > value
  throw new Error(`the reference does not know ${op}`)
}

function somebodyMayAsk(set: GovernanceSet, facts: Facts): boolean {
  if (facts.operation.approvalTriggers.length > 0) return true
  const byPermission = set.permissions.some(
    (one) =>
      one.tool === facts.tool.name &&
      meant(one.targets, facts) &&
      one.operationRules.some(
        (rule) =>
          rule.verdict === 'approval_required' &&
          ['*', ...facts.operation.classes].includes(rule.operationClass),
      ),
  )
  const byPolicy = set.policies.some(
    (one) =>
      one.mode === 'enforce' &&
      meant(one.targets, facts) &&
      about(one.targetTools, facts.tool.name) &&
      one.rules.some((rule) => /approval|escalate/.test(rule.decision) && clausesFit(rule, facts, false)),
  )
  return byPermission || byPolicy
}
