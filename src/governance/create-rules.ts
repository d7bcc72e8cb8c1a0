// Compiles what governs one namespace into what is asked about each of its calls.
import type { GovernanceSet } from '../resource/resolved-governance.ts'
import { sha256Base64url } from '../util/canonical.ts'
import { namedBudgets, periodOf } from './budget.ts'
import type { CompiledCedar } from './cedar/cedar.ts'
import { type Concerned, type DecideKit, decide, narrowedBy } from './decide.ts'
import { createHeld } from './held.ts'
import type { PermissionPiece } from './operation-rule.ts'
import type { Facts, Rules } from './rules.ts'
import { createSlices, type PolicyPiece, type Slice } from './slice.ts'
import { narrowInput } from './transform.ts'

export interface RulesOptions {
  readonly profile: 'local' | 'production'
  /** Demanded where a policy has Cedar text: rules that are not asked would not hold. */
  readonly cedar?: CompiledCedar
}

/** Policy versions that are remembered per slice. */
const MAX_REMEMBERED = 1_000

export function createRules(set: GovernanceSet, options: RulesOptions): Rules {
  const withCedar = set.policies.find((policy) => policy.cedar !== undefined)
  if (withCedar !== undefined && options.cedar === undefined)
    throw new Error(
      `AgentPolicy ${withCedar.name} has Cedar text. Fix: compile it, and pass it as options.cedar`,
    )
  const held = createHeld(set.roles)
  const sliceOf = createSlices(set)
  const versions = createVersions()
  const budgets = set.policies.flatMap((policy) => (policy.mode === 'monitor' ? [] : namedBudgets(policy)))
  const kit: DecideKit = {
    set,
    profile: options.profile,
    hasBudgets: budgets.length > 0,
    policies: new Map(set.policies.map((policy) => [`AgentPolicy/${policy.name}`, policy])),
    ...(options.cedar === undefined ? {} : { cedar: options.cedar }),
  }

  function concernedBy(facts: Facts): Concerned {
    const slice = sliceOf(facts.tool, facts.operation)
    const permissions = slice.permissions.scoped(facts)
    const policies = slice.policies.scoped(facts)
    return {
      slice,
      permissions:
        permissions.length === 0 ? slice.permissions.global : [...slice.permissions.global, ...permissions],
      policies: policies.length === 0 ? slice.policies.global : [...slice.policies.global, ...policies],
      policyVersion: versions(slice, facts, permissions, policies),
    }
  }

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
      const { slice, policies } = concernedBy(facts)
      return narrowInput(facts.input, narrowedBy(slice, policies, slice.fields.reader(facts.input)))
    },
  } satisfies Rules)
}

type VersionOf = (
  slice: Slice,
  facts: Pick<Facts, 'tool'>,
  permissions: readonly PermissionPiece[],
  policies: readonly PolicyPiece[],
) => string

/**
 * Over all that matched or could have matched for this caller, tool and operation. A policy in monitor mode decides nothing,
 * and what governs other tools has no part in it: a change there makes no approval stale.
 */
function createVersions(): VersionOf {
  const ofSlices = new WeakMap<Slice, Map<string, string>>()
  return (slice, { tool }, permissions, policies) => {
    const known = ofSlices.get(slice) ?? new Map<string, string>()
    ofSlices.set(slice, known)
    const scoped = namesOf(permissions, policies)
    const key = scoped.length === 0 ? '' : scoped.join(' ')
    const remembered = known.get(key)
    if (remembered !== undefined) return remembered
    const { role = '', quorum, ttlMs } = tool.approval
    const all = [...namesOf(slice.permissions.global, slice.policies.global), ...scoped].sort()
    const version = sha256Base64url(`${role} ${quorum} ${ttlMs}`, ...all).slice(0, 16)
    if (known.size >= MAX_REMEMBERED) known.clear()
    known.set(key, version)
    return version
  }
}

function namesOf(permissions: readonly PermissionPiece[], policies: readonly PolicyPiece[]): string[] {
  return [
    ...permissions.map(({ permission }) => `ToolPermission/${permission.name}@${permission.version}`),
    ...policies.flatMap(({ policy }) =>
      policy.mode === 'monitor' ? [] : [`AgentPolicy/${policy.name}@${policy.version}`],
    ),
  ]
}

function versionOfSet({ roles, permissions, policies }: GovernanceSet): string {
  const all = [
    ...roles.map(({ name, version }) => `AgentRole/${name}@${version}`),
    ...permissions.map(({ name, version }) => `ToolPermission/${name}@${version}`),
    ...policies.map(({ name, version }) => `AgentPolicy/${name}@${version}`),
  ]
  return sha256Base64url(...all.sort()).slice(0, 16)
}
