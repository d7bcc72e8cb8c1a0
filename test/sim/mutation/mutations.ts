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

/** Where a rule is rarely needed: the seed at which it was last missed. A wrong one costs time, nothing else. */
export const MISSED_AT: Readonly<Record<string, number>> = {
  'settled-is-replayed': 5,
  'other-payload-conflicts-in-flight': 23,
  'erased-key-is-expired': 233,
  'unknown-is-never-erased': 315,
  'stored-payload-runs': 93,
  'identity-holds-for-entries-taken-up-again': 23,
  'keyed-only-while-remembered': 53,
  'keyed-is-looked-at-before-each-send': 199,
  'earlier-attempts-stay-open': 15,
  'rate-limit': 151,
  'failed-flush-stops-sending': 794,
  'deadline-in-the-loop': 41,
  'retry-after-is-kept': 11,
  'deadlines-are-monotonic': 46,
  'slow-disk-does-not-hold-the-caller': 235,
  'only-declared-errors-are-harmless': 73,
  'broken-output-is-unknown': 410,
  'declared-errors-are-harmless': 229,
  'notes-are-written-soon': 12,
  'lease-is-looked-at-when-the-first-byte-leaves': 27,
  'a-third-of-the-lease-is-left': 27,
  'revisions-are-compared': 32,
  'timers-of-ended-lives-are-taken-up': 12,
  'quiet-time-in-a-call': 69,
  'quiet-time-counts-from-the-deadline': 69,
  'quiet-time-of-the-driver': 14,
  'only-tools-that-fence-are-believed-at-once': 69,
  'fencing-is-by-the-number-of-the-last-send': 89,
  'only-declared-states-are-read': 12,
  'commit-is-never-sent-blindly': 108,
  'unclear-commits-are-unknown': 32,
  'commit-needs-its-token': 108,
  'rollback-only-from-prepared': 48,
  'prepared-is-given-up-in-time': 27,
  'rollback-until-acknowledged': 32,
  'undone-under-one-key': 58,
  'repeats-of-a-key-are-no-repeats-of-its-identity': 156,
  'what-was-approved-is-compared': 10,
  'approvals-are-for-one-policy': 10,
  'denied-by-policy-when-it-goes-on': 90,
  'only-what-was-approved-goes-on': 10,
  'one-denial-denies': 15,
  'approved-goes-on-by-itself': 17,
  'grants-count-their-uses': 20,
  'a-grant-is-no-quorum': 37,
  'who-joined-learns-what-it-had-joined': 754,
}
