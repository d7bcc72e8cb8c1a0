// That an export has a fault, and which kinds the tests of a file have shown.
import assert from 'node:assert/strict'
import type { FaultKind } from '../../src/ledger/audit-fault.ts'
import type { VerifyOptions } from '../../src/ledger/audit-verify.ts'
import { verify } from './audit-fixture.ts'

/** Kinds that only a kept head can tell. */
export const HEAD_FAULTS: readonly FaultKind[] = ['head-unknown', 'other-ledger', 'tail-cut']

export interface FaultCheck {
  /** That these lines have this fault, at this place. Other faults may follow from it. */
  assertFault(
    lines: readonly string[],
    kind: FaultKind,
    place?: Record<string, unknown>,
    options?: VerifyOptions,
  ): Promise<void>
  /** Kinds of fault that a test has shown. */
  readonly shown: ReadonlySet<string>
}

export function createFaultCheck(): FaultCheck {
  const shown = new Set<string>()
  return {
    shown,
    async assertFault(lines, kind, place = {}, options = {}) {
      const { ok, faults } = await verify(lines, options)
      assert.equal(ok, false)
      const match = faults.some(
        (fault) =>
          fault.kind === kind &&
          Object.entries(place).every(([name, value]) => fault[name as keyof typeof fault] === value),
      )
      shown.add(kind)
      assert.ok(match, `${kind} at ${JSON.stringify(place)} is not among ${JSON.stringify(faults, null, 1)}`)
    },
  }
}
