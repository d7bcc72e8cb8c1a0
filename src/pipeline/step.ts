// One stage of one call, and what a dry run is told of it. A cancel stops none: execute is where it is stored (S16).
import type { Kit } from './kit.ts'
import { reportOf } from './report.ts'
import type { Received, Stage, StageResult } from './stages.ts'

/** A stage may also say that the decisions before it have to be made again. */
type Result = StageResult<unknown> | { readonly kind: 'again' }

/** A stage that decides at once is not awaited: each await costs a turn of the event loop's microtasks. */
export function step<S extends Received, R extends Result | Promise<Result>>(
  stage: Stage,
  state: S,
  kit: Kit,
  run: (state: S, kit: Kit) => R,
): R {
  const result = run(state, kit)
  if (state.reports === undefined) return result
  const { reports } = state
  if (!(result instanceof Promise)) {
    reports.push(reportOf(stage, state, result))
    return result
  }
  return result.then((settled) => {
    reports.push(reportOf(stage, state, settled))
    return settled
  }) as R
}
