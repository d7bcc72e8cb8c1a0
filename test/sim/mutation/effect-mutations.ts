// The rules of effects in question, of two-phase calls, and of undoing.
import { type Mutation, one } from './mutation.ts'

const RECONCILE = 'src/driver/reconcile.ts'
const INQUIRE = 'src/pipeline/inquire.ts'
const PHASES = 'src/pipeline/two-phase.ts'
const PHASE_CHECK = 'src/pipeline/two-phase-check.ts'
const ROLLBACK = 'src/pipeline/two-phase-rollback.ts'
const TRANSITIONS = 'src/contract/transitions.ts'

export const EFFECT_MUTATIONS: readonly Mutation[] = [
  one(
    'quiet-time-in-a-call',
    'S22',
    INQUIRE,
    `(query.fencing || asked >= quietUntil)) return notDone(last)`,
    `(query.fencing || asked >= 0)) return notDone(last)`,
  ),
  one(
    'quiet-time-counts-from-the-deadline',
    'S22',
    INQUIRE,
    `const quietUntil = lastDeadline + query.quietMs`,
    `const quietUntil = lastDeadline`,
  ),
  one(
    'quiet-time-of-the-driver',
    'S22',
    RECONCILE,
    `query.fencing || data.waitedMs >= data.quietMs`,
    `query.fencing || data.waitedMs >= 0`,
  ),
  one(
    'only-tools-that-fence-are-believed-at-once',
    'S22',
    'src/resource/named-operation.ts',
    `fencing: read.fencing ?? false,`,
    `fencing: read.fencing ?? true,`,
  ),
  one(
    'fencing-is-by-the-number-of-the-last-send',
    'S22',
    INQUIRE,
    `attempts: state.held.attempt }`,
    `attempts: state.entry.attempts }`,
  ),
  one(
    'only-declared-states-are-read',
    'S27',
    'src/pipeline/ask.ts',
    `if (isOneOf(state, query.running)) return { kind: 'running' }`,
    `if (state !== undefined) return { kind: 'not-done' }`,
  ),
  one(
    'what-can-be-asked-is-asked',
    'S27',
    RECONCILE,
    `if (entry === undefined || !isInQuestion(entry)) return { kind: 'done' }`,
    `if (entry === undefined || entry.revision > 0) return { kind: 'done' }`,
  ),
  {
    name: 'commit-is-never-sent-blindly',
    rule: 'S26',
    note: 'the check refuses it, and the store does not know the move',
    edits: [
      {
        file: PHASE_CHECK,
        find: `      return stillUnknown(entry)`,
        replace: `      break`,
      },
      {
        file: TRANSITIONS,
        find: `'commit-unknown': ['committed', 'prepared'],`,
        replace: `'commit-unknown': ['committed', 'prepared', 'committing'],`,
      },
    ],
  },
  {
    name: 'rollback-only-from-prepared',
    rule: 'S26',
    note: 'the check refuses it, and the store does not know the move',
    edits: [
      {
        file: ROLLBACK,
        find: `      return stillUnknown(entry)`,
        replace: `      break`,
      },
      {
        file: TRANSITIONS,
        find: `'commit-unknown': ['committed', 'prepared'],`,
        replace: `'commit-unknown': ['committed', 'prepared', 'rolling-back'],`,
      },
    ],
  },
  one(
    'unclear-commits-are-unknown',
    'S26',
    PHASES,
    `(reply?.kind === 'failure' && reply.definite)`,
    `reply?.kind === 'failure'`,
  ),
  one(
    'commit-needs-its-token',
    'S26',
    PHASE_CHECK,
    `!wasPrepared(entry) || !isToken(entry, token)`,
    `!wasPrepared(entry)`,
  ),
  one(
    'prepared-is-given-up-in-time',
    'S26',
    'src/driver/commit-deadline.ts',
    `if (entry.state !== 'prepared') return { kind: 'written' }`,
    `if (entry.revision > 0) return { kind: 'done' }`,
  ),
  one(
    'rollback-until-acknowledged',
    'S26',
    ROLLBACK,
    `if (!isAcknowledged(outcome, phases.rolledBackOn)) return false`,
    ``,
  ),
  one(
    'undone-under-one-key',
    'S29',
    'src/pipeline/compensate.ts',
    `undoCall(plan, callId, undoKey(entry.id, triesOf(entry)), entry, kit)`,
    'undoCall(plan, callId, "compensation:" + callId, entry, kit)',
  ),
  {
    name: 'nobody-joins-a-saga-that-is-aborted',
    rule: 'S29',
    note: 'reading is for the clear answer, the transaction of the intent is what holds',
    edits: [
      {
        file: 'src/store/sqlite/saga-writer.ts',
        find: `if (openSaga !== null && sagaOf(namespace, openSaga)?.state !== 'open') return CONFLICT`,
        replace: ``,
      },
      {
        file: 'src/pipeline/saga-member.ts',
        find: `isOwn(saga, state.caller) && saga.state === 'open'`,
        replace: `isOwn(saga, state.caller)`,
      },
    ],
  },
  one(
    'repeats-of-a-key-are-no-repeats-of-its-identity',
    'S14',
    'src/pipeline/claim.ts',
    `if (earlier.scope === state.scope && earlier.key === state.key) return undefined`,
    ``,
  ),
]
