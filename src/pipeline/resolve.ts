// Stage 2: name and range to one version, one digest, one operation.
import { mayInvokeName } from '../governance/permit.ts'
import type { Kit } from './kit.ts'
import { denied } from './permit.ts'
import { refuse } from './result.ts'
import { advance, type Recalled, type Resolved, type StageResult } from './stages.ts'

export function resolve(state: Recalled, kit: Kit): StageResult<Resolved> {
  const { call, caller, continued } = state
  // A caller without this learns nothing: not even whether the tool exists (S41).
  if (!mayInvokeName(caller, call.tool)) {
    return denied(state, [`tool:${call.tool}:invoke`], `${caller.actor} lacks tool:${call.tool}:invoke`)
  }
  const pinned = continued && kit.catalog.pinned(caller.namespace, call.tool, continued.digest)
  if (continued !== undefined && pinned === undefined && continued.state === 'unknown') {
    // A repeat is harmless only with the same digest (S22); another build is another effect.
    return refuse(state, 'outcome-unknown', {
      message: 'the build that this call was sent to is no longer here, so it cannot be sent again',
      details: { call_id: continued.callId, digest: continued.digest },
    })
  }
  const found = pinned
    ? ({ kind: 'found', tool: pinned } as const)
    : kit.catalog.resolve(caller.namespace, call.tool, call.version, kit.world.clock.now())
  if (found.kind === 'failed')
    return refuse(state, found.failure, { message: found.message, details: found.details })

  const { tool } = found.tool
  const operation = Object.hasOwn(tool.operations, call.operation)
    ? tool.operations[call.operation]
    : undefined
  if (operation === undefined) {
    const operations = Object.keys(tool.operations)
    return refuse(state, 'operation-unknown', {
      message: `'${tool.name}' has no operation '${call.operation}'; it has ${operations.join(', ')}`,
      details: { operation: call.operation, operations },
    })
  }
  warnOfDeprecation(state, found.tool.tool, kit)
  return advance(state, { target: found.tool, operation })
}

function warnOfDeprecation(state: Recalled, tool: Resolved['target']['tool'], kit: Kit): void {
  const { deprecation } = tool
  if (deprecation?.deprecatedAt === undefined || deprecation.deprecatedAt > kit.world.clock.now()) return
  const end =
    deprecation.removedAt === undefined ? '' : ` and ends on ${new Date(deprecation.removedAt).toISOString()}`
  const instead = deprecation.replacement === undefined ? '' : `; use ${deprecation.replacement}`
  state.warnings.push(`${tool.name} ${tool.version} is deprecated${end}${instead}`)
}
