// Arbitrary approvals, spends, guards and stops, for tests that hold engines against each other.
import fc from 'fast-check'
import { APPROVAL_STATES } from '../../src/contract/approval.ts'
import type { LedgerWrite, ResourceChange, Store } from '../../src/store/store.ts'
import { makeApproval, makeSpend, newLife } from './fixture.ts'

const world = newLife()
const maybe = <T>(arbitrary: fc.Arbitrary<T>, freq = 3) => fc.option(arbitrary, { nil: undefined, freq })
const STOPS = ['all', 'tool:mail', 'tokens:agent']
const BUDGETS = ['b1', 'b2']

type Governed = Pick<LedgerWrite, 'approval' | 'spends' | 'unless'>

/** What a write of this namespace brings beside the rest; `entryIds` are those that approvals are about. */
export function governedWrite(
  entryIds: readonly string[],
): fc.Arbitrary<(namespace: string, write: LedgerWrite) => LedgerWrite> {
  const approval = fc.record({
    id: fc.constantFrom('a1', 'a2'),
    revision: maybe(fc.integer({ min: 2, max: 4 }), 2),
    state: fc.oneof(
      { weight: 2, arbitrary: fc.constant('approved' as const) },
      { weight: 1, arbitrary: fc.constantFrom(...APPROVAL_STATES) },
    ),
    entryId: fc.constantFrom(entryIds[0] ?? '', entryIds[0] ?? '', ...entryIds),
  })
  const spends = fc.uniqueArray(
    fc.record({
      budget: fc.constantFrom(...BUDGETS),
      amount: fc.integer({ min: 0, max: 60 }),
      until: fc.constantFrom(3, 1_000),
    }),
    { minLength: 1, maxLength: 2, selector: ({ budget }) => budget },
  )
  const unless = fc.array(
    fc.record({ stop: fc.constantFrom(...STOPS), issuedAt: maybe(fc.integer({ min: 1, max: 6 })) }),
    { minLength: 1, maxLength: 3 },
  )
  return fc
    .record({ approval: maybe(approval), spends: maybe(spends, 2), unless: maybe(unless, 2) })
    .map((more) => (namespace: string, write: LedgerWrite): LedgerWrite => {
      const governed: Governed = {
        ...(more.approval === undefined ? {} : { approval: approvalWrite(namespace, more.approval) }),
        ...(more.spends === undefined ? {} : { spends: more.spends.map((one) => makeSpend(one)) }),
        ...(more.unless === undefined
          ? {}
          : {
              unless: more.unless.map(({ stop, issuedAt }) => ({
                stop,
                ...(issuedAt === undefined ? {} : { issuedAt }),
              })),
            }),
      }
      return { ...write, ...governed }
    })
}

function approvalWrite(
  namespace: string,
  {
    id,
    revision,
    state,
    entryId,
  }: {
    id: string
    revision: number | undefined
    state: (typeof APPROVAL_STATES)[number]
    entryId: string
  },
): NonNullable<LedgerWrite['approval']> {
  return revision === undefined
    ? { kind: 'insert', approval: makeApproval(world, { namespace, id, entryId }) }
    : { kind: 'update', approval: makeApproval(world, { namespace, id, entryId, revision, state }) }
}

/** Mostly lifted again, so that not everything is stopped. */
export const stopChange: fc.Arbitrary<ResourceChange> = fc
  .record({
    name: fc.constantFrom(...STOPS),
    put: fc.boolean(),
    before: maybe(fc.integer({ min: 1, max: 6 })),
    until: maybe(fc.constantFrom(1, Number.MAX_SAFE_INTEGER)),
  })
  .map(({ name, put, before, until }) => {
    const body = {
      reason: 'because',
      ...(before === undefined ? {} : { before }),
      ...(until === undefined ? {} : { until }),
    }
    return {
      kind: 'Stop',
      name,
      version: '0.0.0',
      ...(put ? { put: { digest: JSON.stringify(body), body } } : {}),
    }
  })

/** All that governance has left in a namespace. */
export async function governedRows(store: Store, namespace: string): Promise<unknown> {
  return {
    approvals: await store.approvals.list({ namespace, limit: 10 }),
    decided: await store.approvals.list({
      namespace,
      states: ['approved', 'used', 'denied'],
      tool: 'mail',
      limit: 10,
    }),
    spent: await store.budgets.spent(
      namespace,
      BUDGETS.map((budget) => makeSpend({ budget })),
    ),
  }
}
