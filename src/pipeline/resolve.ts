// Stage 2: name and range to one version, one digest, one operation.
import type { Entry } from '../contract/entry.ts'
import { permit as mayCall, mayInvokeName } from '../governance/permit.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import type { Kit } from './kit.ts'
import { denied, roleMissing } from './permit.ts'
import { blocked } from './recall.ts'
import { refuse } from './result.ts'
import { advance, type Recalled, type Resolved, type StageResult } from './stages.ts'
import { type Standing, standingOf } from './standing.ts'

export function resolve(state: Recalled, kit: Kit): StageResult<Resolved> {
  const { call, continued } = state
  const standing = standingOf(state.caller, kit)
  const { caller, held, rules } = standing
  if (held.missingRoles.length > 0) return roleMissing(state, rules.version, held.missingRoles)
  // A caller without this learns nothing: not even whether the tool exists (S41).
  if (!mayInvokeName(caller, call.tool, held)) {
    const wanted = `tool:${call.tool}:invoke`
    return denied(state, rules.version, [wanted], `${caller.actor} lacks ${wanted}`)
  }
  const pinned = continued && kit.catalog.pinned(caller.namespace, call.tool, continued.digest)
  if (continued !== undefined && pinned === undefined) return buildGone(state, continued)
  const found = pinned
    ? ({ kind: 'found', tool: pinned } as const)
    : kit.catalog.resolve(caller.namespace, call.tool, call.version, kit.world.clock.now())
  if (found.kind === 'failed') {
    return (
      hidden(state, standing, kit.catalog.highest(caller.namespace, call.tool)) ??
      refuse(state, found.failure, { message: found.message, details: found.details })
    )
  }
  const { tool } = found.tool
  const operation = Object.hasOwn(tool.operations, call.operation)
    ? tool.operations[call.operation]
    : undefined
  if (operation === undefined || (operation.internal && state.undoes === undefined)) {
    const unseen = hidden(state, standing, tool)
    if (unseen !== undefined) return unseen
    const operations = Object.keys(tool.operations).filter((name) => !tool.operations[name]?.internal)
    return refuse(state, 'operation-unknown', {
      message: `'${tool.name}' has no operation '${call.operation}'; it has ${operations.join(', ')}`,
      details: { operation: call.operation, operations },
    })
  }
  warnOfDeprecation(state, found.tool.tool, kit)
  return advance(state, { target: found.tool, operation })
}

/** S41: whoever may not call a tool does not learn its versions or operations from a refusal either. */
function hidden(
  state: Recalled,
  { held, rules }: Standing,
  tool: ResolvedTool | undefined,
): StageResult<never> | undefined {
  if (tool === undefined) return undefined
  const permission = mayCall(state.caller, tool, held)
  return permission.kind === 'denied'
    ? denied(state, rules.version, permission.missing, permission.why)
    : undefined
}

/** S13: an entry is pinned to its build, and S22: only the same build makes a repeat harmless. */
function buildGone(state: Recalled, continued: Entry): StageResult<never> {
  const message = 'the build that this key is pinned to is no longer here, so it cannot be sent again'
  if (continued.state === 'unknown') return blocked(state, continued, message)
  if (continued.state === 'awaiting-approval') {
    return refuse(state, 'approval-stale', {
      message: 'the build that was approved is no longer here',
      details: { approval_id: continued.approvalId ?? '', changed: ['tool version'] },
    })
  }
  return refuse(state, 'version-unmatched', {
    message: `${message}; nothing has happened`,
    fix: 'Use a new key.',
    details: { call_id: continued.callId, digest: continued.digest },
  })
}

function warnOfDeprecation(state: Recalled, tool: Resolved['target']['tool'], kit: Kit): void {
  const { deprecation } = tool
  if (deprecation?.deprecatedAt === undefined || deprecation.deprecatedAt > kit.world.clock.now()) return
  const end =
    deprecation.removedAt === undefined ? '' : ` and ends on ${new Date(deprecation.removedAt).toISOString()}`
  const instead = deprecation.replacement === undefined ? '' : `; use ${deprecation.replacement}`
  state.warnings.push(`${tool.name} ${tool.version} is deprecated${end}${instead}`)
}
