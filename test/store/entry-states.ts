// States that entries of a property begin in, and are moved through.
import fc from 'fast-check'
import { ENTRY_STATES } from '../../src/contract/entry.ts'
import { KEPT_STATES, pathTo } from './fixture.ts'

const states = fc.constantFrom(...ENTRY_STATES)
/** Mostly those that an entry can begin in: refused inserts alone would leave both stores empty. */
export const firstStates = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('intended' as const, 'awaiting-approval' as const) },
  { weight: 1, arbitrary: states },
)
/** Also along several legal moves, so that every state is reached. */
export const paths = fc.oneof(
  fc.array(states, { maxLength: 2 }),
  fc.constantFrom(...KEPT_STATES).map((state) => pathTo(state)),
)
