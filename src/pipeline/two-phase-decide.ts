// What governs a prepared effect at its commit: the word for it is given now, so what holds by now counts (S44, S45).
import type { Caller } from '../contract/caller.ts'
import { asksPeople, type Decision } from '../contract/decision.ts'
import { type Entry, inlineOf, sentPayloadOf } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure } from '../contract/projection.ts'
import { coversNeeds } from '../governance/approval-rule.ts'
import { CedarFailed } from '../governance/cedar/cedar.ts'
import type { Facts, Rules } from '../governance/rules.ts'
import { serialize } from '../ledger/fingerprint.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import { denialFacts, policyRef, reasonsOf } from './authorize.ts'
import type { Kit } from './kit.ts'
import { standingOf } from './standing.ts'
import { withoutOwn } from './still-allowed.ts'

/** undefined where it may be committed. What is refused stays prepared, until its time is over or it is given up. */
export async function governedNow(
  entry: Entry,
  caller: Caller,
  tool: ResolvedTool,
  kit: Kit,
): Promise<Failure | undefined> {
  const { rules } = standingOf(caller, kit)
  const operation = tool.operations[entry.operation]
  if (operation === undefined) return undefined
  const { agent, taskId } = entry.request ?? {}
  const facts: Facts = {
    caller,
    ...(agent === undefined ? {} : { agent }),
    ...(taskId === undefined ? {} : { taskId }),
    tool,
    operation,
    input: inlineOf(entry.payload),
    now: kit.steadyNow(),
    also: [],
  }
  try {
    return refusedBy(await decide(facts, rules, kit), entry, facts, rules, kit)
  } catch (error) {
    if (error instanceof CedarFailed) return createFailure('policy-unavailable', { message: error.message })
    onlyUnavailable(error)
    return createFailure('intent-not-recorded')
  }
}

/** What it takes from budgets it has taken already: that does not count against it. */
async function decide(facts: Facts, rules: Rules, kit: Kit): Promise<Decision> {
  const reads = rules.reads(facts)
  if (reads.length === 0) return rules.decide(facts)
  const spent = await kit.ledger.spent(facts.caller.namespace, reads)
  // A denial says nothing of what a call takes, so it is asked for as if nothing were taken yet.
  const { spends } = rules.decide({ ...facts, spent: new Map() })
  return rules.decide({ ...facts, spent: withoutOwn(spent, reads, spends) })
}

function refusedBy(
  decision: Decision,
  entry: Entry,
  facts: Facts,
  rules: Rules,
  kit: Kit,
): Failure | undefined {
  if (decision.kind === 'deny') {
    return createFailure('permission-denied', denialFacts(decision, kit.world.id()))
  }
  if (asksPeople(decision) && !isAgreed(entry, decision)) {
    const reasons = reasonsOf(decision)
    return changed(entry, decision, kit, `needs an approval by now that nobody gave: ${reasons.join('; ')}`)
  }
  const dry = decision.narrowings.some(({ kind }) => kind === 'dry_run')
  if (dry || serialize(rules.narrowed(facts)) !== serialize(inlineOf(sentPayloadOf(entry)))) {
    return changed(entry, decision, kit, 'is not what policy would let be prepared by now')
  }
  return undefined
}

/** Other rules may ask other people, or more of them: what was given was given under those before. */
function isAgreed({ outcome }: Entry, { policyVersion, needs }: Decision): boolean {
  const agreed = outcome?.agreed
  return agreed !== undefined && agreed.policyVersion === policyVersion && coversNeeds(agreed.needs, needs)
}

function changed({ callId }: Entry, decision: Decision, kit: Kit, why: string): Failure {
  return createFailure('permission-denied', {
    message: `what was prepared ${why}`,
    details: {
      code: 'policy-changed',
      missing: [],
      call_id: callId,
      effect_state: 'prepared',
      policy_ref: policyRef(decision, kit.world.id()),
    },
    fix: 'Roll it back and call anew: what governs it now is asked then. Not committed in time, it is rolled back by itself.',
  })
}
