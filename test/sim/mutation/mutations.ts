// All safety rules that the simulator watches. Without any one of them it must turn red.
//
// Where two places hold the same rule (a second line of defence), a mutation takes out both; its `note` says so.
import { ANSWER_MUTATIONS } from './answer-mutations.ts'
import { APPROVAL_MUTATIONS } from './approval-mutations.ts'
import { DISK_MUTATIONS } from './disk-mutations.ts'
import { EFFECT_MUTATIONS } from './effect-mutations.ts'
import { KEY_MUTATIONS } from './key-mutations.ts'
import type { Mutation } from './mutation.ts'
import { OWNERSHIP_MUTATIONS } from './ownership-mutations.ts'
import { SEND_MUTATIONS } from './send-mutations.ts'
import { TIME_MUTATIONS } from './time-mutations.ts'

export const MUTATIONS: readonly Mutation[] = [
  ...KEY_MUTATIONS,
  ...SEND_MUTATIONS,
  ...TIME_MUTATIONS,
  ...ANSWER_MUTATIONS,
  ...DISK_MUTATIONS,
  ...OWNERSHIP_MUTATIONS,
  ...EFFECT_MUTATIONS,
  ...APPROVAL_MUTATIONS,
]

/** Where the first seeds do not need a rule: the one at which it was last missed. A wrong one costs time, nothing else. */
export const MISSED_AT: Readonly<Record<string, number>> = {
  'settled-is-replayed': 5,
  'refused-for-good-is-replayed': 3,
  'claim-joins': 7,
  'flight-is-reserved': 7,
  'other-payload-conflicts-in-flight': 23,
  'stored-payload-runs': 93,
  'build-is-pinned': 5,
  'build-that-is-gone-blocks': 138,
  'erased-key-is-expired': 233,
  'unknown-is-never-erased': 315,
  'identity-is-looked-up': 8,
  'identity-is-checked-in-the-transaction': 8,
  'identity-holds-for-inserts': 8,
  'identity-holds-for-entries-taken-up-again': 23,
  'identity-approve-is-unique-until-approved': 8,
  'keyed-only-while-remembered': 53,
  'keyed-is-looked-at-before-each-send': 199,
  'earlier-attempts-stay-open': 15,
  'cancel-stops-the-send': 31,
  'cancel-after-send-is-unknown': 35,
  'rate-limit': 151,
  'failed-flush-stops-sending': 794,
  'deadline-in-the-loop': 41,
  'retry-after-is-kept': 11,
  'slow-disk-does-not-hold-the-caller': 235,
  'deadlines-are-monotonic': 46,
  'refusals-are-definite': 3,
  'only-declared-errors-are-harmless': 73,
  'declared-errors-are-harmless': 229,
  'broken-output-is-unknown': 410,
  'sent-boundary': 5,
  'failed-flush-is-final': 15,
  'notes-are-written-soon': 12,
  'strict-reads-wait': 9,
  'lease-is-looked-at-when-the-first-byte-leaves': 27,
  'a-third-of-the-lease-is-left': 27,
  'ended-lives-write-nothing': 9,
  'revisions-are-compared': 32,
  'timers-of-ended-lives-are-taken-up': 12,
  'recovery-says-unknown': 5,
  'orphans-that-cannot-be-asked-are-not-sent-again': 5,
  'quiet-time-in-a-call': 69,
  'quiet-time-counts-from-the-deadline': 69,
  'quiet-time-of-the-driver': 14,
  'only-tools-that-fence-are-believed-at-once': 69,
  'fencing-is-by-the-number-of-the-last-send': 89,
  'only-declared-states-are-read': 12,
  'what-can-be-asked-is-asked': 3,
  'commit-is-never-sent-blindly': 108,
  'rollback-only-from-prepared': 48,
  'unclear-commits-are-unknown': 32,
  'commit-needs-its-token': 108,
  'prepared-is-given-up-in-time': 27,
  'rollback-until-acknowledged': 32,
  'undone-under-one-key': 58,
  'nobody-joins-a-saga-that-is-aborted': 9,
  'repeats-of-a-key-are-no-repeats-of-its-identity': 156,
  'people-are-asked': 4,
  'what-was-approved-is-compared': 10,
  'approvals-are-for-one-policy': 10,
  'denied-by-policy-when-it-goes-on': 90,
  'approvals-are-used-up': 4,
  'decisions-are-made-one-after-the-other': 4,
  'only-what-was-approved-goes-on': 10,
  'one-denial-denies': 15,
  'as-many-people-as-it-needs': 4,
  'nobody-decides-about-its-own': 17,
  'what-was-denied-stays-denied': 4,
  'approved-goes-on-by-itself': 17,
  'who-joined-learns-what-it-had-joined': 754,
  'grants-count-their-uses': 20,
  'a-grant-is-no-quorum': 37,
}
