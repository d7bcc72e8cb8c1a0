// Stage 3: may this caller invoke this tool at all; is it stopped.
import type { FailureId } from '../contract/failures.ts'
import type { FailureFacts } from '../contract/projection.ts'
import type { Stop } from '../contract/stop.ts'
import { claimMismatch } from '../governance/claim.ts'
import { permit as decide } from '../governance/permit.ts'
import type { JsonObject } from '../util/json.ts'
import type { Kit } from './kit.ts'
import { refuse } from './result.ts'
import { advance, type Permitted, type Received, type Resolved, type StageResult } from './stages.ts'
import { standingOf } from './standing.ts'

export function permit(state: Resolved, kit: Kit): StageResult<Permitted> {
  const { call } = state
  const { caller, held, rules } = standingOf(state.caller, kit)
  if (call.namespace !== undefined && call.namespace !== caller.namespace) {
    return denied(
      state,
      rules.version,
      [],
      `${caller.actor} belongs to namespace '${caller.namespace}', not '${call.namespace}'`,
    )
  }
  const mismatch = claimMismatch(caller, { ...call.claims, ...(call.agent && { agent: call.agent }) })
  if (mismatch !== undefined) return denied(state, rules.version, [], mismatch, 'actor-mismatch')
  const permission = decide(caller, state.target.tool, held)
  if (permission.kind === 'denied') {
    return denied(state, rules.version, permission.missing, permission.why, permission.code)
  }
  // Only whoever may call a tool learns that it is stopped.
  const stop = kit.authority.stopped(caller, call.tool, call.agent)
  if (stop !== undefined) return stopped(state, stop)
  const { withheld } = state.target.tool
  if (withheld !== undefined) {
    return refuse(state, 'tool-unhealthy', {
      message: withheld.why,
      fix: withheld.fix,
      details: { code: `tool-${withheld.code}` },
      // It passes by what a person or the server does, and by no waiting of ours.
      said: { retryable: false, counts: true },
    })
  }
  return advance(state, { permitted: true as const })
}

/** W17: a role that nobody has declared grants nothing, and is no slip to be forgiven. */
export function roleMissing(state: Received, version: string, roles: readonly string[]): StageResult<never> {
  const why = `${state.caller.actor} has ${roles.length === 1 ? 'a role that does' : 'roles that do'} not exist: ${roles.join(', ')}`
  return denied(
    state,
    version,
    roles.map((role) => `role:${role}`),
    why,
    'role-missing',
  )
}

export function stopped(state: Received, stop: StopSeen): StageResult<never> {
  const [id, { details, ...facts }] = stopFacts(stop)
  return refuse(state, id, { ...facts, details: { ...details, policy_ref: stopRef(stop, state.call.id) } })
}

/** What a refusal names as the policy that it was made by. */
export function stopRef({ name, at }: StopSeen, callId: string): JsonObject {
  return { policy_id: `Stop/${name}`, policy_version: new Date(at).toISOString(), decision_id: callId }
}

export type StopSeen = Pick<Stop, 'kind' | 'name' | 'reason' | 'at' | 'damaged'>

/** The row and the facts of something that an operator has stopped. */
export function stopFacts(stop: StopSeen): [FailureId, FailureFacts] {
  if (stop.kind === 'revocation') {
    const details = { code: 'token-revoked', missing: [] }
    // Why is for who revoked it; that nobody can read it any more is for everybody.
    const message = stop.damaged
      ? `the token of this call was revoked; ${stop.reason}`
      : 'the token of this call was revoked'
    return ['permission-denied', { message, details }]
  }
  const { name, reason } = stop
  const since = new Date(stop.at).toISOString()
  return [
    'frozen',
    {
      message: `${stopText(name)} is stopped: ${reason}`,
      details: { code: 'frozen', frozen: name, reason, since },
    },
  ]
}

/** As a sentence says it: `tool:pay` is tool pay. */
function stopText(name: string): string {
  if (name === 'all') return 'everything'
  return name === 'namespace' ? 'the namespace' : name.replace(':', ' ')
}

/** S41: whoever is denied learns nothing of the tool: no version, no digest, no date. `version` is that of the rules. */
export function denied(
  state: Received,
  version: string,
  missing: readonly string[],
  why: string,
  code = 'permission-missing',
): StageResult<never> {
  const resolved = state.reports?.findIndex((report) => report.stage === 'resolve') ?? -1
  if (resolved >= 0)
    state.reports?.splice(resolved, 1, { stage: 'resolve', verdict: 'ok', reason: 'ok', details: {} })
  state.warnings.splice(0, state.warnings.length, ...state.call.warnings)
  const ended = refuse(state, 'permission-denied', {
    message: why,
    details: {
      code,
      missing,
      policy_ref: { policy_id: 'permissions', policy_version: version, decision_id: state.call.id },
    },
  })
  if (ended.kind !== 'end') return ended
  const { tool: _, ...result } = ended.result
  return { kind: 'end', result }
}
