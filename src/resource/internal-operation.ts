// Named operations that go to an address of their own, as operations of the tool that nobody can call (S27).
import type { EffectRule } from '../contract/effect.ts'
import type { NamedRequests } from './named-way.ts'
import type { ResolvedOperation } from './resolved-tool.ts'

/** `of`: the operation whose effect names it. What it may do to the world is the same, and so is what it says. */
export function internalOperation(
  name: string,
  of: ResolvedOperation,
  { kind, method, url }: NamedRequests[string],
): ResolvedOperation {
  return {
    name,
    description: '',
    classes: kind === 'status' ? ['read'] : of.classes,
    effect: ruleOf(of.effect, kind),
    timeoutMs: of.timeoutMs,
    // Whoever sends it decides whether to send it again.
    retry: { maxAttempts: 1, backoffMs: 0, maxBackoffMs: 0, jitter: 'none' },
    approvalTriggers: [],
    harmlessErrors: of.harmlessErrors,
    request: { method, url },
    internal: true,
  }
}

function ruleOf(of: EffectRule, kind: NamedRequests[string]['kind']): EffectRule {
  const shared = { class: of.class, keyRequired: false, refusedOn: of.refusedOn }
  switch (kind) {
    case 'status':
      return { ...shared, class: 'read-only', determinism: 'idempotent', repeat: 'read' }
    case 'prepare': {
      // S22: prepare as keyed, while what it prepared is there.
      const keyed = { header: 'Idempotency-Key', retentionMs: of.twoPhase?.deadlineMs ?? 0 }
      return { ...shared, determinism: 'idempotent', repeat: 'keyed', keyed }
    }
    case 'rollback':
      // It is sent until it is acknowledged.
      return { ...shared, determinism: 'idempotent', repeat: 'natural' }
    default:
      return { ...shared, determinism: 'side_effectful', repeat: 'never' }
  }
}
