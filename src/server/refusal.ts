// A request that ends at the edge. Thrown by the code of a route, answered by `sendRefusal` and nothing else.
import type { FailureId } from '../contract/failures.ts'
import type { JsonObject } from '../util/json.ts'

export interface RefusalOptions {
  readonly failure: FailureId
  /** What happened and where. It is shown to the caller: no paths, no stacks, no input. */
  readonly message?: string
  /** How to mend it, where the row's own hint is too general. */
  readonly fix?: string
  /** Where HTTP has a more exact status than the row, such as 405. */
  readonly status?: number
  readonly details?: JsonObject
  readonly headers?: Readonly<Record<string, string>>
}

export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly options: RefusalOptions

  constructor(options: RefusalOptions) {
    super(options.message ?? options.failure)
    this.options = options
  }
}
