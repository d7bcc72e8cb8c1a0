// The rules of keys, entries and identities.
import { type Mutation, one } from './mutation.ts'

const EXECUTE = 'src/pipeline/execute.ts'
const INTEND = 'src/pipeline/intend.ts'
const RECALL = 'src/pipeline/recall.ts'
const CLAIM = 'src/pipeline/claim.ts'
const RESOLVE = 'src/pipeline/resolve.ts'
const ENTRY_WRITER = 'src/store/sqlite/entry-writer.ts'
const FINGERPRINT = 'src/ledger/fingerprint.ts'

export const KEY_MUTATIONS: readonly Mutation[] = [
  one(
    'settled-is-replayed',
    'S16',
    RECALL,
    `    default:
      return { kind: 'end', result: resultOfEntry(entry) }`,
    `    default:
      return advance(state, { continued: undefined })`,
  ),
  one(
    'refused-for-good-is-replayed',
    'S16',
    RECALL,
    `      return entry.state === 'not-done'
        ? { kind: 'end', result: resultOfEntry(entry) }
        : blocked(state, entry)`,
    `      return entry.state === 'not-done' ? advance(state, { continued: entry }) : blocked(state, entry)`,
  ),
  one(
    'unknown-blocks',
    'S16',
    RECALL,
    `        : blocked(state, entry)`,
    `        : advance(state, { continued: entry })`,
  ),
  {
    name: 'recall-joins',
    rule: 'S10',
    note: 'what is under way without a flight is waited for, too, by looking',
    edits: [
      {
        file: RECALL,
        find: `return flight === undefined ? fromLedger(state, kit) : joinFlight(state, flight, kit)`,
        replace: `return flight === null ? joinFlight(state, flight, kit) : fromLedger(state, kit)`,
      },
      {
        file: RECALL,
        find: `return isUnderWay(entry) && !state.call.dryRun ?`,
        replace: `return isUnderWay(entry) && entry.epoch !== kit.world.epoch ?`,
      },
    ],
  },
  one(
    'claim-joins',
    'S10',
    CLAIM,
    `const other = isUnknownToOthers(state) ? undefined : kit.flights.find(state.scope, state.key)`,
    `const other = undefined as ReturnType<typeof kit.flights.find>`,
  ),
  one(
    'flight-is-reserved',
    'S10',
    CLAIM,
    `const flight = visible ? kit.flights.reserve(entry) : kit.flights.hidden(entry)`,
    `const flight = kit.flights.hidden(entry)`,
  ),
  one(
    'who-lost-the-key-looks-again',
    'S35',
    INTEND,
    `    return { kind: 'again' }
  } catch (error) {`,
    `    return { kind: 'intended', entry: { ...state.entry, state: 'intended', revision: 1 } }
  } catch (error) {`,
    'also what holds when somebody takes a flight over with an entry of its own',
  ),
  one(
    'released-flight-is-taken-over',
    'S10',
    'src/ledger/flight.ts',
    `else next.settle({ kind: 'owner' })`,
    `else next.settle({ kind: 'left', why: 'time' })`,
  ),
  one(
    'other-payload-conflicts',
    'S13',
    RECALL,
    `  if (differs(state, entry)) return conflict(state, entry)
  switch (entry.state) {`,
    `  if (differs(state, entry)) state.warnings.push('another payload')
  switch (entry.state) {`,
  ),
  one(
    'other-payload-conflicts-in-flight',
    'S13',
    RECALL,
    `  if (differs(state, flight.entry)) {
    // A`,
    `  if (differs(state, flight.entry) && flight.entry.revision < 0) {
    // A`,
  ),
  one(
    'stored-payload-runs',
    'S13',
    'src/pipeline/validate.ts',
    `const kept = continued?.payload`,
    `const kept = undefined as NonNullable<typeof continued>['payload']`,
  ),
  one(
    'scope-has-the-actor',
    'S13',
    FINGERPRINT,
    `return JSON.stringify([namespace, actor, tool, operation])`,
    `return JSON.stringify([namespace, tool, operation])`,
  ),
  one('tool-key-is-hashed', 'S19', FINGERPRINT, `return sha256Base64url(scope, key)`, `return key`),
  one(
    'build-is-pinned',
    'S13',
    RESOLVE,
    `const pinned = continued && kit.catalog.pinned(caller.namespace, call.tool, continued.digest)`,
    `const pinned = undefined as ReturnType<typeof kit.catalog.pinned>`,
  ),
  one(
    'build-that-is-gone-blocks',
    'S22',
    RESOLVE,
    `if (continued !== undefined && pinned === undefined) return buildGone(state, continued)`,
    `if (continued !== undefined && pinned === null) return buildGone(state, continued)`,
  ),
  one('attempts-continue', 'S16', EXECUTE, `let attempt = state.entry.attempts`, `let attempt = 0`),
  one(
    'erased-key-is-expired',
    'S18',
    RECALL,
    `if (isTombstone(entry)) {`,
    `if (isTombstone(entry) && entry.state === 'reserved') {`,
  ),
  one(
    'unknown-is-never-erased',
    'S16',
    'src/store/entry-rule.ts',
    `const SETTLED: ReadonlySet<EntryState> = new Set<EntryState>([`,
    `const SETTLED: ReadonlySet<EntryState> = new Set<EntryState>([
  'unknown',`,
  ),
  one(
    'identity-is-looked-up',
    'S14',
    CLAIM,
    `if (earlier === undefined || earlier.id === entry.id) return undefined`,
    `if (earlier !== null) return undefined`,
    'told apart from the check in the transaction by the tools that replay or ask for approval',
  ),
  one(
    'identity-is-checked-in-the-transaction',
    'S14',
    INTEND,
    `const unique = identity !== undefined && !isAgreedRepeat(state)`,
    `const unique = identity !== undefined && isAgreedRepeat(state)`,
  ),
  one(
    'identity-holds-for-inserts',
    'S14',
    ENTRY_WRITER,
    `if (earlier !== undefined) return ['identity', earlier]`,
    `if (earlier === null) return ['identity', earlier]`,
  ),
  one(
    'identity-holds-for-entries-taken-up-again',
    'S14',
    ENTRY_WRITER,
    `if (earlier !== undefined && !isAt(earlier, scope, key)) return ['identity', earlier]`,
    `if (earlier !== undefined && earlier === null) return ['identity', earlier]`,
  ),
  one(
    'identity-approve-is-unique-until-approved',
    'S14',
    INTEND,
    `const unique = identity !== undefined && !isAgreedRepeat(state)`,
    `const unique = identity !== undefined && identity.onRepeat !== 'approve'`,
  ),
]
