// A class of calls that somebody agreed to beforehand: is this one of them, and is a use of it left?
import { createCaller } from '../contract/caller.ts'
import { type ApprovalGrant, coveredBy } from '../governance/grant.ts'
import { readGrant } from './grant-row.ts'
import type { Kit } from './kit.ts'
import { type Claimed, sentInput, type UsedGrant } from './stages.ts'
import { grantSpend } from './use-approval.ts'

/** What only people decide, each time anew. */
const NEVER: readonly string[] = ['effect-repeated', 'compensation-approval']

export async function findGrant(state: Claimed, kit: Kit): Promise<UsedGrant | undefined> {
  const { decision, caller } = state
  const isForPeople = decision.matches.some(({ code, monitored }) => !monitored && NEVER.includes(code))
  if (decision.kind !== 'require-approval' || isForPeople || decision.needs.length === 0) return undefined
  const rows = await kit.ledger.grants(caller.namespace)
  for (const row of rows) {
    const grant = readGrant(row)
    if (grant === undefined || !covers(grant, state, kit)) continue
    // What somebody gave who is stopped by now is stopped with them.
    if (kit.authority.frozen(createCaller({ actor: grant.by, namespace: caller.namespace }))) continue
    if (await hasUseLeft(grant, caller.namespace, kit)) return usedGrant(grant)
  }
  return undefined
}

/** It holds for the input as it was asked for, and as it would be sent. */
function covers(grant: ApprovalGrant, state: Claimed, kit: Kit): boolean {
  const { decision, input } = state
  const facts = { ...state.facts, now: kit.steadyNow() }
  return decision.needs.every(
    (need) =>
      coveredBy(grant, { ...facts, input }, need) &&
      coveredBy(grant, { ...facts, input: sentInput(state).input }, need),
  )
}

/** Only a look: the use itself is counted with the intent, where two cannot take the last one. */
async function hasUseLeft(grant: ApprovalGrant, namespace: string, kit: Kit): Promise<boolean> {
  const spend = grantSpend(usedGrant(grant))
  if (spend === undefined) return true
  const spent = await kit.ledger.spent(namespace, [spend])
  return (spent.get(spend.budget) ?? 0) + spend.amount <= spend.max
}

function usedGrant({ id, by, maxUses, until }: ApprovalGrant): UsedGrant {
  return { id, by, until, ...(maxUses === undefined ? {} : { maxUses }) }
}
