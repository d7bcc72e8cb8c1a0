// From an AgentPolicy manifest to a policy with every default applied. Says all that is wrong, and what has no effect.
import { parseDecimal } from '../util/decimal.ts'
import type { PolicyManifest, PolicySpec } from './agent-policy.ts'
import { DAY_MS, type DurationBounds, readDuration } from './bounded-duration.ts'
import {
  distinct,
  governanceDigest,
  identify,
  resolveApproval,
  resolveConditions,
  resolvePointer,
  resolveTargetNames,
  resolveToolPatterns,
} from './governance-part.ts'
import { type KindResolveOptions, type Resolution, resolution, UNVERSIONED } from './kind.ts'
import { checkMetadata, isName } from './name.ts'
import { createFindings, type Findings, type Path } from './problem.ts'
import type {
  Narrow,
  PolicyBudget,
  PolicyRule,
  PolicyTransform,
  ResolvedPolicy,
  Targets,
} from './resolved-governance.ts'

/** Read for the sake of manifests that have them (S47). */
const NOT_ENFORCED = ['max_tokens_per_run', 'allowed_models', 'max_child_depth', 'max_child_tasks'] as const

const RETRY_BOUNDS: DurationBounds = Object.freeze({ min: 1_000, max: 30 * DAY_MS })
const PERIOD_BOUNDS: DurationBounds = Object.freeze({ min: 1_000, max: 400 * DAY_MS })
const MILLIONTHS = 6
/** A Cedar policy that asks for more than a denial, wherever it stands in the text. */
const CEDAR_ESCALATES = /@decision\s*\(\s*"escalate"\s*\)/

export function resolvePolicy(
  manifest: PolicyManifest,
  { generation, profile }: KindResolveOptions,
): Resolution<ResolvedPolicy> {
  const { spec } = manifest
  const findings = createFindings()
  checkMetadata(findings, manifest.metadata)
  const targetTools = resolveToolPatterns(findings, spec.target_tools, ['spec', 'target_tools'])
  const meaning = {
    mode: spec.mode ?? ('enforce' as const),
    targets: resolveTargets(findings, spec, targetTools),
    targetTools,
    blockedTools: resolveToolPatterns(findings, spec.blocked_tools, ['spec', 'blocked_tools']),
    rules: (spec.rules ?? []).map((rule, index) => resolveRule(findings, rule, ['spec', 'rules', index])),
    ...(spec.cedar === undefined ? {} : { cedar: spec.cedar }),
    transforms: (spec.transforms ?? []).flatMap((transform, index) =>
      resolveTransform(findings, transform, ['spec', 'transforms', index]),
    ),
    budgets: (spec.budgets ?? []).flatMap((budget, index) =>
      resolveBudget(findings, budget, ['spec', 'budgets', index]),
    ),
    approval: resolveApproval(findings, spec.approval, ['spec', 'approval']),
    ...(spec.escalate_to === undefined ? {} : { escalateTo: spec.escalate_to }),
    notEnforced: resolveNotEnforced(findings, spec, profile),
  }
  warnOfEffect(findings, spec, meaning)
  const digest = governanceDigest('AgentPolicy', meaning)
  return resolution(findings.all, UNVERSIONED, digest, () => ({
    ...identify(manifest, digest, generation),
    ...meaning,
  }))
}

/** A policy whose only targets are tools is about these tools, whoever calls them. */
function resolveTargets(findings: Findings, spec: PolicySpec, targetTools: readonly string[]): Targets {
  const applyMode = spec.apply_mode ?? 'scoped'
  const lists = (['target_agents', 'target_systems', 'target_tasks'] as const).map((name) => {
    const names = resolveTargetNames(findings, spec[name], ['spec', name])
    if (applyMode === 'global' && names.length > 0) {
      const message = 'has no effect: apply_mode is global, so it is about every call'
      findings.warn(['spec', name], message, 'write apply_mode: scoped, or remove it')
    }
    return names
  })
  const [agents = [], systems = [], tasks = []] = lists
  const untargeted = lists.every((names) => names.length === 0)
  if (applyMode === 'scoped' && untargeted && targetTools.length === 0) {
    findings.warn(
      ['spec'],
      'matches nothing: apply_mode is scoped, and it has no targets',
      'write apply_mode: global, or add target_agents, target_systems, target_tasks or target_tools',
    )
  }
  const byTool = untargeted && targetTools.length > 0
  return { applyMode: byTool ? 'global' : applyMode, agents, systems, tasks }
}

function resolveRule(
  findings: Findings,
  rule: NonNullable<PolicySpec['rules']>[number],
  path: Path,
): PolicyRule {
  for (const [index, name] of (rule.operations ?? []).entries()) {
    if (!isName(name.trim()))
      findings.error([...path, 'operations', index], `'${name}' is no name of an operation`, 'write it whole')
  }
  const retryAfterMs = readDuration(findings, [...path, 'retry_after'], rule.retry_after, RETRY_BOUNDS)
  if (rule.retry_after !== undefined && rule.decision !== 'deny') {
    findings.error(
      [...path, 'retry_after'],
      `says when a denial passes; this rule says ${rule.decision}`,
      'remove it',
    )
  }
  return {
    tools: resolveToolPatterns(findings, rule.tools, [...path, 'tools']),
    operations: distinct(rule.operations ?? []),
    operationClasses: [...new Set(rule.operation_classes)],
    riskLevels: [...new Set(rule.risk_levels)],
    when: resolveConditions(findings, rule.when, [...path, 'when']),
    decision: rule.decision,
    ...(rule.reason === undefined ? {} : { reason: rule.reason }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

type Transform = NonNullable<PolicySpec['transforms']>[number]

function resolveTransform(findings: Findings, transform: Transform, path: Path): PolicyTransform[] {
  const narrow = resolveNarrow(findings, transform, path)
  const tools = resolveToolPatterns(findings, transform.tools, [...path, 'tools'])
  const when = resolveConditions(findings, transform.when, [...path, 'when'])
  return narrow === undefined ? [] : [{ tools, when, narrow }]
}

function resolveNarrow(
  findings: Findings,
  { clamp, drop, dry_run: dryRun }: Transform,
  path: Path,
): Narrow | undefined {
  const given = [clamp, drop, dryRun].filter((one) => one !== undefined)
  if (given.length !== 1) {
    findings.error(
      path,
      given.length === 0 ? 'changes nothing' : 'says several things at once',
      'write one of clamp, drop and dry_run: true',
    )
    return undefined
  }
  if (drop !== undefined) {
    const fields = drop.flatMap((field, index) => resolvePointer(findings, field, [...path, 'drop', index]))
    return { kind: 'drop', fields: [...new Set(fields)] }
  }
  if (clamp !== undefined) return resolveClamp(findings, clamp, [...path, 'clamp'])
  if (dryRun === true) return { kind: 'dry_run' }
  findings.error([...path, 'dry_run'], 'must be true', 'write dry_run: true, or remove the transform')
  return undefined
}

function resolveClamp(
  findings: Findings,
  { field, min, max }: NonNullable<Transform['clamp']>,
  path: Path,
): Narrow | undefined {
  const [at] = resolvePointer(findings, field, [...path, 'field'])
  if (min === undefined && max === undefined) findings.error(path, 'has no bounds', 'add min, max, or both')
  if (min !== undefined && max !== undefined && min > max)
    findings.error([...path, 'min'], 'is more than max', 'correct one of the two')
  if (at === undefined) return undefined
  const bounds = { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) }
  return { kind: 'clamp', field: at, ...bounds }
}

function resolveBudget(
  findings: Findings,
  budget: NonNullable<PolicySpec['budgets']>[number],
  path: Path,
): PolicyBudget[] {
  const { calls, sum } = budget
  if (calls === false) findings.error([...path, 'calls'], 'must be true', 'write calls: true, or give sum')
  else if ((calls === undefined) === (sum === undefined)) {
    const message = calls === undefined ? 'counts nothing' : 'counts two things at once'
    findings.error(path, message, 'write one of calls: true and sum: /field')
  }
  const pointer = sum === undefined ? [] : resolvePointer(findings, sum, [...path, 'sum'])
  const tools = resolveToolPatterns(findings, budget.tools, [...path, 'tools'])
  const periodMs = readDuration(findings, [...path, 'period'], budget.period, PERIOD_BOUNDS)
  const max = inMillionths(budget.max)
  if (max === undefined) {
    const fix = 'write a number from 0 to 9 thousand million with at most six digits after the point'
    findings.error([...path, 'max'], `${budget.max} cannot be counted exactly`, fix)
  }
  if (periodMs === undefined || max === undefined) return []
  const [field] = pointer
  return [
    { tools, per: budget.per ?? 'caller', periodMs, ...(field === undefined ? {} : { sum: field }), max },
  ]
}

/** Exact, or not at all. */
function inMillionths(amount: number): number | undefined {
  const { negative, digits, exponent } = parseDecimal(String(amount))
  if (digits === '') return 0
  if (negative || exponent < -MILLIONTHS || exponent + digits.length > 10) return undefined
  const whole = Number(digits.padEnd(digits.length + exponent + MILLIONTHS, '0'))
  return Number.isSafeInteger(whole) ? whole : undefined
}

function resolveNotEnforced(
  findings: Findings,
  spec: PolicySpec,
  profile: KindResolveOptions['profile'],
): string[] {
  const given = NOT_ENFORCED.filter((name) => spec[name] !== undefined)
  for (const name of given) {
    const message = 'is about running agents, which Writ does not do: it is not enforced'
    if (profile === 'production')
      findings.error(['spec', name], message, 'remove it, and enforce it where agents run')
    else findings.warn(['spec', name], message, 'enforce it where agents run')
  }
  return given
}

/** What was surely meant otherwise, or reaches further than it looks. */
function warnOfEffect(
  findings: Findings,
  spec: PolicySpec,
  {
    rules,
    blockedTools,
    budgets,
    transforms,
    targetTools,
  }: Pick<ResolvedPolicy, 'rules' | 'blockedTools' | 'budgets' | 'transforms' | 'targetTools'>,
): void {
  const { escalate_to: escalateTo, cedar } = spec
  if (escalateTo !== undefined && !isName(escalateTo))
    findings.error(
      ['spec', 'escalate_to'],
      `'${escalateTo}' is no valid name`,
      'write the name of an AgentRole',
    )
  const empty = [rules, blockedTools, budgets, transforms].every((list) => list.length === 0)
  const declared = [spec.rules, spec.budgets, spec.transforms].some((list) => (list?.length ?? 0) > 0)
  if (empty && !declared && cedar === undefined)
    findings.warn(['spec'], 'asks for nothing: it has no rules, blocked_tools, cedar, transforms or budgets')
  const escalating = rules.findIndex((rule) => rule.decision === 'escalate')
  const escalates = escalating !== -1 || (cedar !== undefined && CEDAR_ESCALATES.test(cedar))
  if (escalates && escalateTo === undefined) {
    const path = escalating === -1 ? ['spec', 'cedar'] : ['spec', 'rules', escalating, 'decision']
    const message = 'escalates to nobody in particular: whoever may decide approvals decides'
    findings.warn(path, message, 'add escalate_to with the name of an AgentRole')
  }
  const all = blockedTools.indexOf('*')
  if (all !== -1) {
    const message = 'blocks every tool that is or will be there, for whom the policy is about'
    findings.warn(['spec', 'blocked_tools', all], message, 'name those that are meant')
  }
  const denying = isEvery(targetTools) ? rules.findIndex(deniesAll) : -1
  if (denying !== -1) {
    const message = 'denies every call of every tool, for whom the policy is about'
    findings.warn(
      ['spec', 'rules', denying],
      message,
      'name tools, or add when; to stop all, use writ freeze',
    )
  }
}

const isEvery = (patterns: readonly string[]) => patterns.length === 0 || patterns.includes('*')

function deniesAll({ decision, tools, operations, operationClasses, riskLevels, when }: PolicyRule): boolean {
  const limits = [operations, operationClasses, riskLevels, when]
  return decision === 'deny' && isEvery(tools) && limits.every((limit) => limit.length === 0)
}
