// What a stage says for itself in an explanation or a dry run (S17).
import type { Decision, RuleRef } from '../contract/decision.ts'
import type { JsonObject } from '../util/json.ts'
import { reasonsOf } from './authorize.ts'
import type { Admitted, Received, Stage, StageReport, StageResult } from './stages.ts'
import { MILLION } from './use-approval.ts'

type Result = StageResult<unknown> | { readonly kind: 'again' }

export function reportOf(stage: Stage, state: Received, result: Result): StageReport {
  if (result.kind === 'ok' || result.kind === 'again') {
    const [reason, details] = passed(stage, state as Partial<Admitted> & Received)
    return { stage, verdict: 'ok', reason, details }
  }
  const { failure, replayed, state: ended } = result.result
  if (result.kind === 'suspend')
    return { stage, verdict: 'suspend', reason: failure?.message ?? ended, details: {} }
  return {
    stage,
    verdict: 'end',
    reason: failure?.message ?? (replayed ? `answered by an earlier call, ${ended}` : ended),
    details: {
      ...(failure ? { ...failure.details, failure: failure.id } : {}),
      ...(stage === 'authorize' ? denied(state as Partial<Admitted>) : {}),
    },
  }
}

function denied({ decision }: Partial<Admitted>): JsonObject {
  return decision?.kind === 'deny' ? explained(decision) : {}
}

/** The state has just been added to by the stage: what it found is there. */
function passed(stage: Stage, state: Partial<Admitted> & Received): [reason: string, details: JsonObject] {
  switch (stage) {
    case 'recall':
      return state.continued === undefined
        ? ['nothing is known of this key', {}]
        : [
            'the next attempt of an earlier call',
            { call_id: state.continued.callId, attempts: state.continued.attempts },
          ]
    case 'resolve': {
      const { version = '', digest = '' } = state.target?.tool ?? {}
      return [`version ${version}`, { version, digest }]
    }
    case 'permit':
      return [
        `${state.caller.actor} may invoke it`,
        { actor: state.caller.actor, namespace: state.caller.namespace },
      ]
    case 'validate':
      return [
        'constraints and input are valid',
        { timeout_ms: state.bounds?.timeoutMs ?? 0, max_attempts: state.bounds?.maxAttempts ?? 0 },
      ]
    case 'authorize': {
      if (state.decision === undefined) return ['allow', {}]
      const reasons = reasonsOf(state.decision)
      return [
        reasons.length === 0 ? state.decision.kind : `${state.decision.kind}: ${reasons.join('; ')}`,
        explained(state.decision),
      ]
    }
    case 'claim':
      return [
        'the key is free',
        { effect_class: state.operation?.effect.class ?? '', repeat: state.operation?.effect.repeat ?? '' },
      ]
    case 'approve':
      return ['nobody has to approve', {}]
    case 'admit':
      return ['there is room and time', { time_left_ms: Math.round((state.deadline ?? 0) - state.startedAt) }]
    default:
      return ['ok', {}]
  }
}

/** Everything that matched, and what was one clause away from it. */
function explained(decision: Decision): JsonObject {
  const { kind, matches, near, unchecked, needs, narrowings, spends, policyVersion } = decision
  const ref = ({ policyId, policyVersion, rule }: RuleRef) => ({
    policy_id: policyId,
    policy_version: policyVersion,
    rule,
  })
  return {
    decision: kind,
    policy_version: policyVersion,
    matched: matches.map((match) => ({
      ...ref(match),
      decision: match.decision,
      code: match.code,
      reason: match.reason,
      ...(match.monitored ? { monitored: true } : {}),
    })),
    near: near.map((one) => ({ ...ref(one), decision: one.decision, missed: one.missed })),
    ...(unchecked === undefined ? {} : { near_unchecked: unchecked }),
    needs: needs.map(({ role, quorum, escalated }) => ({
      quorum,
      ...(role === undefined ? {} : { role }),
      ...(escalated ? { escalated: true } : {}),
    })),
    narrowed: narrowings.map((one) => ({ ...ref(one), kind: one.kind, field: one.field })),
    budgets: spends.map(({ budget, amount, max, until }) => ({
      budget,
      amount: amount / MILLION,
      max: max / MILLION,
      resets_at: new Date(until).toISOString(),
    })),
  }
}
