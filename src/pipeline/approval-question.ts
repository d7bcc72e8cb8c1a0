// What people are asked about a call: this very payload, to this very tool, under these very rules (S45).
import type { Approval, ApprovalBinding } from '../contract/approval.ts'
import { kindOf } from '../contract/caller.ts'
import { isReadOnly } from '../contract/effect.ts'
import type { Payload } from '../contract/entry.ts'
import { bindingOf } from '../governance/approval-rule.ts'
import { sha256Hex } from '../util/canonical.ts'
import type { Json } from '../util/json.ts'
import { reasonsOf } from './authorize.ts'
import type { Kit } from './kit.ts'
import { type Claimed, sentInput } from './stages.ts'

/** What an approval would have to be for, to fit what would be sent now. */
export function bindingNow(state: Claimed): ApprovalBinding {
  const { timeoutMs, maxAttempts } = state.bounds
  return bindingOf({
    tool: state.target.tool,
    operation: state.operation,
    payloadHash: sha256Hex(sentInput(state).payloadText),
    policyVersion: state.decision.policyVersion,
    limits: { timeoutMs, maxAttempts },
  })
}

export function questionOf(state: Claimed, kit: Kit): Approval {
  const { call, caller, entry, operation, target, decision, narrowed } = state
  const now = kit.steadyNow()
  const counts = decision.matches.filter((match) => !match.monitored && match.decision === decision.kind)
  return {
    namespace: caller.namespace,
    id: kit.world.id(),
    state: 'pending',
    revision: 1,
    entryId: entry.id,
    callId: call.id,
    requestId: call.requestId,
    requester: caller.actor,
    requesterKind: kindOf(caller),
    caller: state.caller,
    ...(call.agent === undefined ? {} : { agent: call.agent }),
    ...(call.taskId === undefined ? {} : { taskId: call.taskId }),
    binding: bindingNow(state),
    operationClasses: operation.classes,
    riskLevel: target.tool.riskLevel,
    effectClass: operation.effect.class,
    readOnly: isReadOnly(operation.effect),
    reasons: reasonsOf(decision),
    rules: counts.map(({ policyId, policyVersion, rule }) => ({ policyId, policyVersion, rule })),
    needs: decision.needs,
    ...part('shown', masked(state, sentInput(state).input)),
    ...(narrowed === undefined ? {} : part('asked', masked(state, state.input))),
    decisions: [],
    delegations: [],
    usedLinks: [],
    createdAt: kit.world.clock.now(),
    expiresAt: Math.floor(now + ttlOf(state, kit)),
    ...(call.callback === undefined ? {} : { callback: { url: call.callback } }),
  }
}

/** How long somebody has to decide: never past the time the caller listens (S9). */
function ttlOf(state: Claimed, kit: Kit): number {
  const left = state.listensUntil - kit.world.clock.monotonic()
  return Math.max(0, Math.min(state.decision.ttlMs, left))
}

/** Whoever decides sees what is sent, apart from what is sensitive (S5). */
function masked({ target, operation }: Claimed, input: Json | undefined): Payload | undefined {
  if (input === undefined) return undefined
  return { inline: target.masks.get(operation.name)?.(input) ?? input }
}

function part<K extends 'shown' | 'asked'>(
  key: K,
  payload: Payload | undefined,
): { readonly [P in K]?: Payload } {
  return payload === undefined ? {} : ({ [key]: payload } as { [P in K]: Payload })
}
