// What only shows when all resources of a namespace are looked at together: names that lead nowhere, circles, tools that
// nobody has to approve.
import { didYouMean } from '../util/did-you-mean.ts'
import { type CedarAsks, lacksApprovalRule } from './approval-cover.ts'
import type { Path, ResourceFinding, Severity } from './problem.ts'
import type { GovernanceSet, ResolvedRole } from './resolved-governance.ts'
import type { ResolvedTool } from './resolved-tool.ts'

/** Another look at the whole set, by a part that this layer does not know: Cedar is checked this way. */
export type CheckSet = (set: GovernanceSet, tools: readonly ResolvedTool[]) => readonly ResourceFinding[]

export interface CheckSetOptions {
  readonly profile: 'local' | 'production'
  /** What else the namespace has is not known: what is missing may be there. */
  readonly partial?: boolean
  /** Without it no Cedar text is taken to ask for approval. */
  readonly asks?: CedarAsks
}

export function checkSet(
  set: GovernanceSet,
  tools: readonly ResolvedTool[],
  options: CheckSetOptions,
): ResourceFinding[] {
  return [
    ...checkRoleNames(set, tools, options),
    ...checkCircles(set.roles),
    ...checkToolNames(set, tools, options),
    ...(options.profile === 'production' ? checkApprovalRules(set, tools, options) : []),
  ]
}

interface RoleName {
  readonly kind: string
  readonly name: string
  readonly path: Path
  readonly role: string
}

/** Every place that names a role. */
export function roleNames(set: GovernanceSet, tools: readonly ResolvedTool[]): RoleName[] {
  const approvals = [
    ...tools.map((one) => ({ kind: 'Tool', one })),
    ...set.permissions.map((one) => ({ kind: 'ToolPermission', one })),
    ...set.policies.map((one) => ({ kind: 'AgentPolicy', one })),
  ].flatMap(({ kind, one: { name, approval } }) =>
    approval.role === undefined
      ? []
      : [{ kind, name, path: ['spec', 'approval', 'role'], role: approval.role }],
  )
  const inherited = set.roles.flatMap(({ name, inherits }) =>
    inherits.map((role, index) => ({ kind: 'AgentRole', name, path: ['spec', 'inherits', index], role })),
  )
  const escalated = set.policies.flatMap(({ name, escalateTo }) =>
    escalateTo === undefined
      ? []
      : [{ kind: 'AgentPolicy', name, path: ['spec', 'escalate_to'], role: escalateTo }],
  )
  return [...inherited, ...approvals, ...escalated]
}

function checkRoleNames(
  set: GovernanceSet,
  tools: readonly ResolvedTool[],
  { partial }: CheckSetOptions,
): ResourceFinding[] {
  const known = set.roles.map((role) => role.name)
  return roleNames(set, tools)
    .filter(({ role }) => !known.includes(role))
    .map(({ kind, name, path, role }) => {
      const guess = didYouMean(role, known)
      const fix =
        guess === undefined
          ? `add the AgentRole ${role}, or apply it together with this`
          : `did you mean ${guess}?`
      return partial
        ? {
            kind,
            name,
            path,
            message: `there is no AgentRole '${role}' among these manifests`,
            fix: 'see that the server has it',
            severity: 'warning',
          }
        : { kind, name, path, message: `there is no AgentRole '${role}'`, fix, severity: 'error' }
    })
}

/** Said of every role that is in the circle. */
function checkCircles(roles: readonly ResolvedRole[]): ResourceFinding[] {
  const byName = new Map(roles.map((role) => [role.name, role]))
  return roles.flatMap(({ name, inherits }) =>
    inherits.flatMap((first, index) => {
      const way = wayBack(byName, first, name)
      if (way === undefined) return []
      const message = `goes in a circle: ${[name, ...way].join(' > ')}`
      return [
        {
          kind: 'AgentRole',
          name,
          path: ['spec', 'inherits', index],
          message,
          fix: 'take one of them out',
          severity: 'error' as const,
        },
      ]
    }),
  )
}

/** The shortest way from one role to another through what they inherit. */
function wayBack(
  roles: ReadonlyMap<string, ResolvedRole>,
  from: string,
  to: string,
): readonly string[] | undefined {
  const ways: (readonly string[])[] = [[from]]
  const seen = new Set([from])
  for (const way of ways) {
    const last = way.at(-1) ?? ''
    if (last === to) return way
    for (const next of roles.get(last)?.inherits ?? []) {
      if (seen.has(next)) continue
      seen.add(next)
      ways.push([...way, next])
    }
  }
  return undefined
}

/** A rule for a tool that is not there yet is fine; one that was misspelt protects nothing. */
function checkToolNames(
  set: GovernanceSet,
  tools: readonly ResolvedTool[],
  { partial }: CheckSetOptions,
): ResourceFinding[] {
  if (partial) return []
  const known = [...new Set(tools.map((tool) => tool.name))]
  const missing = (kind: string, name: string, path: Path, tool: string): ResourceFinding[] => {
    const found = tool.endsWith('*')
      ? known.some((one) => one.startsWith(tool.slice(0, -1)))
      : known.includes(tool)
    if (found) return []
    const guess = didYouMean(tool, known)
    const fix = guess === undefined ? 'apply the tool, or correct the name' : `did you mean ${guess}?`
    const message = tool.endsWith('*') ? `no tool matches '${tool}' yet` : `there is no tool '${tool}' yet`
    return [{ kind, name, path, message, fix, severity: 'warning' }]
  }
  return [
    ...set.permissions.flatMap(({ name, tool }) =>
      missing('ToolPermission', name, ['spec', 'tool_ref'], tool),
    ),
    ...set.policies.flatMap((policy) => [
      ...policy.blockedTools.flatMap((tool, index) =>
        missing('AgentPolicy', policy.name, ['spec', 'blocked_tools', index], tool),
      ),
      ...policy.targetTools.flatMap((tool, index) =>
        missing('AgentPolicy', policy.name, ['spec', 'target_tools', index], tool),
      ),
      ...policy.rules.flatMap((rule, at) =>
        rule.tools.flatMap((tool, index) =>
          missing('AgentPolicy', policy.name, ['spec', 'rules', at, 'tools', index], tool),
        ),
      ),
    ]),
  ]
}

function checkApprovalRules(
  set: GovernanceSet,
  tools: readonly ResolvedTool[],
  { partial, asks = () => false }: CheckSetOptions,
): ResourceFinding[] {
  return tools.flatMap((tool) =>
    Object.values(tool.operations)
      .filter((operation) => lacksApprovalRule(tool, operation, set, asks))
      .map(({ name, effect }) => {
        const severity: Severity = partial ? 'warning' : 'error'
        const what = `operation ${name} is ${effect.class}, and no approval rule${partial ? ' among these manifests' : ''} concerns it`
        const fix =
          'add approval_triggers, a ToolPermission or AgentPolicy that requires approval, or approval_waiver with the reason'
        return { kind: 'Tool', name: tool.name, path: ['spec'], message: what, fix, severity }
      }),
  )
}
