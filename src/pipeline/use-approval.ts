// What the intent of a call uses up: an approval, a use of a grant, and what budgets give (S38, S45).
import type { Approval } from '../contract/approval.ts'
import type { Spend } from '../contract/decision.ts'
import type { Fact } from '../ledger/ledger.ts'
import type { LedgerWrite } from '../store/store.ts'
import type { Kit } from './kit.ts'
import type { Admitted, UsedGrant } from './stages.ts'

/** Amounts are counted in whole millionths. */
export const MILLION = 1_000_000
const GRANT = 'grant:'

export function useOf(state: Admitted, kit: Kit): Pick<LedgerWrite, 'approval' | 'spends' | 'timers'> {
  const spends = [...state.decision.spends, ...grantUse(state)]
  return {
    ...(state.approval === undefined ? {} : usedUp(state.approval, kit)),
    ...(spends.length === 0 ? {} : { spends }),
  }
}

/** Nothing waits for people any more. */
function usedUp(approval: Approval, kit: Kit): Pick<LedgerWrite, 'approval' | 'timers'> {
  const now = used(approval, kit)
  return {
    approval: { kind: 'update', approval: now },
    timers: [{ kind: 'approval', subject: approval.entryId }, ...kit.notify(now, 'approval.used')],
  }
}

function used(approval: Approval, kit: Kit): Approval {
  return { ...approval, state: 'used', revision: approval.revision + 1, endedAt: kit.world.clock.now() }
}

/** One use of a grant that has only so many. */
function grantUse({ grant }: Admitted): readonly Spend[] {
  const spend = grant === undefined ? undefined : grantSpend(grant)
  return spend === undefined ? [] : [spend]
}

/** Uses are counted as budgets are: one period, which is as long as the grant lives. */
export function grantSpend({
  id,
  maxUses,
  until,
}: Pick<UsedGrant, 'id' | 'maxUses' | 'until'>): Spend | undefined {
  if (maxUses === undefined) return undefined
  return { budget: `${GRANT}${id}`, subject: '', from: 0, until, amount: MILLION, max: maxUses * MILLION }
}

export function isGrantUse({ budget }: Spend): boolean {
  return budget.startsWith(GRANT)
}

export function usedFacts({ approval, grant, entry }: Admitted, _kit: Kit): readonly Fact[] {
  return [
    ...(approval === undefined
      ? []
      : [{ type: 'approval.used' as const, body: { entry_id: entry.id, approval_id: approval.id } }]),
    ...(grant === undefined
      ? []
      : [{ type: 'grant.used' as const, body: { entry_id: entry.id, grant_id: grant.id, by: grant.by } }]),
  ]
}
