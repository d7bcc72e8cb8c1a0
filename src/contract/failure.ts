// A failure: one row of the table, with what is known of this very case.
import type { JsonObject } from '../util/json.ts'
import type { FailureId } from './failures.ts'

export interface Failure {
  readonly id: FailureId
  /** For people: what happened, where. */
  readonly message: string
  /** Safe to show the caller; never holds input, output or secrets. */
  readonly details: JsonObject
  /** The safe answer for this very call (S24). */
  readonly retryable: boolean
  /** What to do in this very case, where that is more exact than the row's; see `fixOf`. */
  readonly fix?: string
  /** Whether it happened is being found out from the tool, without anybody's doing. */
  readonly asking?: true
}
