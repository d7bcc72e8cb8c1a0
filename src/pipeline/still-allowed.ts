// Asked before each send: nothing is sent without a decision that is valid at that moment.

import { asksPeople, type Spend } from '../contract/decision.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure } from '../contract/projection.ts'
import { coversNeeds } from '../governance/approval-rule.ts'
import { PolicyUnavailable } from '../governance/authority.ts'
import { CedarFailed } from '../governance/cedar/cedar.ts'
import { permit } from '../governance/permit.ts'
import type { Facts, Rules } from '../governance/rules.ts'
import { serialize } from '../ledger/fingerprint.ts'
import { denialFacts, factsOf, policyRef } from './authorize.ts'
import type { Kit } from './kit.ts'
import { stopFacts, stopRef } from './permit.ts'
import { type Admitted, sentInput } from './stages.ts'
import { type Standing, standingOf } from './standing.ts'

export type Allowed =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'refused'; readonly failure: Failure }
  /** Nothing was sent yet, and something that governs the call has changed: it is decided anew, from the start. */
  | { readonly kind: 'again' }

const ALLOWED: Allowed = { kind: 'allowed' }

/** `first`: nothing was sent for this call, and nothing is on record that it would be. */
export function stillAllowed(state: Admitted, first: boolean, kit: Kit): Allowed | Promise<Allowed> {
  try {
    const standing = standingOf(state.caller, kit)
    const fixed = refusedStanding(state, standing, kit)
    if (fixed !== undefined) return { kind: 'refused', failure: fixed }
    const unchanged = standing.rules.version === state.rulesVersion
    // Decided a moment ago, by these very rules.
    if (first) return unchanged ? ALLOWED : { kind: 'again' }
    const facts = { ...factsOf(state, standing, kit), also: state.facts.also }
    const reads = standing.rules.reads(facts)
    if (reads.length === 0) return compare(state, facts, standing.rules, kit)
    return kit.ledger
      .spent(state.caller.namespace, reads)
      .then((spent) =>
        compare(
          state,
          { ...facts, spent: withoutOwn(spent, reads, state.decision.spends) },
          standing.rules,
          kit,
        ),
      )
      .catch(unjudged)
  } catch (error) {
    return unjudged(error)
  }
}

/** What this very call has reserved does not count against its next attempt. */
export function withoutOwn(
  spent: ReadonlyMap<string, number>,
  reads: readonly Spend[],
  spends: readonly Spend[],
): ReadonlyMap<string, number> {
  const own = (read: Spend) =>
    spends.find(
      ({ budget, subject, from }) => budget === read.budget && subject === read.subject && from === read.from,
    )?.amount ?? 0
  return new Map(reads.map((read) => [read.budget, Math.max(0, (spent.get(read.budget) ?? 0) - own(read))]))
}

function refusedStanding(state: Admitted, { caller, held, rules }: Standing, kit: Kit): Failure | undefined {
  const byPermissions = {
    policy_id: 'permissions',
    policy_version: rules.version,
    decision_id: state.call.id,
  }
  if (held.missingRoles.length > 0) {
    return createFailure('permission-denied', {
      message: `${caller.actor} has a role that no longer exists`,
      details: {
        code: 'role-missing',
        missing: held.missingRoles.map((role) => `role:${role}`),
        policy_ref: byPermissions,
      },
    })
  }
  const permission = permit(caller, state.target.tool, held)
  if (permission.kind === 'denied') {
    const details = { code: permission.code, missing: permission.missing, policy_ref: byPermissions }
    return createFailure('permission-denied', { message: permission.why, details })
  }
  const stop = kit.authority.stopped(caller, state.call.tool, state.call.agent)
  if (stop === undefined) return undefined
  const [id, { details, ...facts }] = stopFacts(stop)
  return createFailure(id, { ...facts, details: { ...details, policy_ref: stopRef(stop, state.call.id) } })
}

/** Another attempt: what was agreed to, and what policy made of the input, must still be the same. */
function compare(state: Admitted, facts: Facts, rules: Rules, kit: Kit): Allowed {
  const decision = rules.decide(facts)
  if (decision.kind === 'deny') {
    const failure = createFailure('permission-denied', denialFacts(decision, kit.world.id()))
    return { kind: 'refused', failure }
  }
  // Another policy may ask other people, or more of them: what was given was given under the one before (S45).
  const agreed =
    (state.approval !== undefined || state.grant !== undefined) &&
    decision.policyVersion === state.decision.policyVersion &&
    coversNeeds(state.decision.needs, decision.needs)
  const text = serialize(rules.narrowed(facts))
  // The same text, and nothing to be sent any more.
  const dry = decision.narrowings.some(({ kind }) => kind === 'dry_run')
  if ((!asksPeople(decision) || agreed) && !dry && text === sentInput(state).payloadText) return ALLOWED
  const message = 'what governs this call has changed since its first attempt; it is not sent again'
  return {
    kind: 'refused',
    failure: createFailure('permission-denied', {
      message,
      details: { code: 'policy-changed', missing: [], policy_ref: policyRef(decision, kit.world.id()) },
    }),
  }
}

function unjudged(error: unknown): Allowed {
  if (!(error instanceof PolicyUnavailable || error instanceof CedarFailed)) throw error
  return { kind: 'refused', failure: createFailure('policy-unavailable', { message: error.message }) }
}
