// What a dry run is told (S17): what every stage would answer. Nothing is reserved, sent or kept.
import type { CallResult, Received } from './stages.ts'

/** A refusal of a dry run tells what every stage said, and leaves nothing that could be found by an id. */
export function dryResult(received: Received, result: CallResult): CallResult {
  if (result.failure === undefined) return result
  const stages = (received.reports ?? []).map((report) => ({ ...report }))
  const details = { ...result.failure.details, dry_run: true, stages }
  return { ...result, failure: { ...result.failure, details } }
}

/** S17: nothing stands in the way but, where `decision` says so, a person. */
export function wouldRun(received: Received, decision: 'allow' | 'require-approval'): CallResult {
  return {
    state: 'succeeded',
    effect: 'none',
    output: { dry_run: true, decision, stages: (received.reports ?? []).map((report) => ({ ...report })) },
    attempt: 0,
    replayed: false,
    warnings: received.warnings,
    sideEffects: [],
  }
}
