// One stage of one call: stops for a cancel before the key is claimed, and keeps what a dry run was told.

import type { Kit } from './kit.ts'
import { refuse } from './result.ts'
import type { Received, Stage, StageReport, StageResult } from './stages.ts'

/** After the claim a cancel is the business of execute, which stores it (S16). */
const STOPS_FOR_CANCEL: readonly Stage[] = ['recall', 'resolve', 'permit', 'validate', 'authorize', 'claim']

export async function step<S extends Received, N>(
  stage: Stage,
  state: S,
  kit: Kit,
  run: (state: S, kit: Kit) => StageResult<N> | Promise<StageResult<N>>,
): Promise<StageResult<N>> {
  const result: StageResult<N> =
    state.abort.aborted && STOPS_FOR_CANCEL.includes(stage)
      ? refuse(state, 'canceled')
      : await run(state, kit)
  state.reports?.push(report(stage, result))
  return result
}

function report<N>(stage: Stage, result: StageResult<N>): StageReport {
  if (result.kind === 'ok') return { stage, verdict: 'ok', reason: 'ok', details: {} }
  const { failure, replayed, state } = result.result
  return {
    stage,
    verdict: result.kind,
    reason: failure?.message ?? (replayed ? `answered by an earlier call, ${state}` : state),
    details: failure ? { failure: failure.id, ...failure.details } : {},
  }
}
