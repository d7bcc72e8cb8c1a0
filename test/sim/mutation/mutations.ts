// All safety rules that the simulator watches. Without any one of them it must turn red.
//
// Where two places hold the same rule (a second line of defence), a mutation takes out both; its `note` says so.
import { ANSWER_MUTATIONS } from './answer-mutations.ts'
import { DISK_MUTATIONS } from './disk-mutations.ts'
import { KEY_MUTATIONS } from './key-mutations.ts'
import type { Mutation } from './mutation.ts'
import { SEND_MUTATIONS } from './send-mutations.ts'
import { TIME_MUTATIONS } from './time-mutations.ts'

export const MUTATIONS: readonly Mutation[] = [
  ...KEY_MUTATIONS,
  ...SEND_MUTATIONS,
  ...TIME_MUTATIONS,
  ...ANSWER_MUTATIONS,
  ...DISK_MUTATIONS,
]

/** Where a rule is rarely needed: the seed at which it was last missed. A wrong one costs time, nothing else. */
export const MISSED_AT: Readonly<Record<string, number>> = {
  'stored-payload-runs': 72,
  'build-that-is-gone-blocks': 90,
  'identity-holds-for-entries-taken-up-again': 189,
  'keyed-is-looked-at-before-each-send': 41,
  'rate-limit': 42,
  'concurrency-limit': 98,
  'failed-flush-stops-sending': 97,
  'deadlines-are-monotonic': 46,
  'only-declared-errors-are-harmless': 53,
  'declared-errors-are-harmless': 76,
  'broken-output-is-unknown': 82,
  'failed-flush-is-final': 41,
}
