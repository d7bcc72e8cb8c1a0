// What a Cedar policy says about a call, as governance says everything: decision, code, reason, and where it stands.
import type { ResolvedPolicy } from '../../resource/resolved-governance.ts'
import { matchOf } from '../policy-rule.ts'
import type { ReasonCode } from '../reason-code.ts'
import { CedarFailed, type CedarMatch } from './cedar.ts'
import type { CedarPolicy } from './cedar-policy.ts'

const SAYS: Readonly<Record<CedarPolicy['decision'], readonly [ReasonCode, string]>> = Object.freeze({
  allow: ['cedar-permitted', 'permits it'],
  'require-approval': ['cedar-approval', 'asks for approval'],
  escalate: ['cedar-escalated', 'hands it to a specialist'],
  deny: ['cedar-denied', 'forbids it'],
})

export function cedarMatch(policy: ResolvedPolicy, cedar: CedarPolicy): CedarMatch {
  const { decision, retryAfterMs } = cedar
  const [code, says] = SAYS[decision]
  const reason = cedar.reason ?? `Cedar policy ${cedar.id} of AgentPolicy ${policy.name} ${says}`
  return {
    ...matchOf(policy, cedar.rule, { decision, code, reason }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

/** A text with permits, none of which matches. */
export function unpermittedMatch(policy: ResolvedPolicy): CedarMatch {
  const reason = `no Cedar permit of AgentPolicy ${policy.name} matches`
  return matchOf(policy, 'cedar', { decision: 'deny', code: 'cedar-not-permitted', reason })
}

/** What cannot be judged is not let through. */
export function unjudgedMatch(policy: ResolvedPolicy, cedar: CedarPolicy, field: string): CedarMatch {
  const reads = `Cedar policy ${cedar.id} of AgentPolicy ${policy.name} reads the field ${JSON.stringify(field)}`
  const reason = `${reads}, whose value Cedar cannot hold`
  return matchOf(policy, cedar.rule, { decision: 'deny', code: 'cedar-unjudged', reason })
}

/** Throws, other than for a policy that only says: that one must not stop a call. */
export function failed(policy: ResolvedPolicy, rule: string, why: string): CedarMatch {
  if (policy.mode !== 'monitor') throw new CedarFailed(`AgentPolicy/${policy.name}`, rule, why)
  const reason = `Cedar of AgentPolicy ${policy.name} cannot be evaluated: ${why}`
  return matchOf(policy, rule, { decision: 'deny', code: 'cedar-failed', reason })
}
