// Everything that can go wrong between a client and its server, as one error with a kind.
import type { FailureId } from '../contract/failures.ts'
import type { JsonObject, Violation } from '../util/json.ts'

export type ClientErrorKind =
  /** No connection: nothing was sent. */
  | 'unreachable'
  /** The connection broke, or no answer came in time: the server may have taken the request. */
  | 'interrupted'
  /** The server said no. `failure` names the row of the failure table. */
  | 'refused'
  /** Something answered that does not speak this API. */
  | 'unexpected'

export interface ClientErrorOptions {
  readonly kind: ClientErrorKind
  readonly fix?: string
  readonly status?: number
  readonly failure?: FailureId
  readonly retryable?: boolean
  readonly violations?: readonly Violation[]
  readonly details?: JsonObject
  readonly cause?: unknown
}

export class ClientError extends Error {
  override readonly name = 'ClientError'
  readonly kind: ClientErrorKind
  readonly fix: string | undefined
  /** The HTTP status, where there was an answer. */
  readonly status: number | undefined
  readonly failure: FailureId | undefined
  /** The same request may be sent again without harm. */
  readonly retryable: boolean
  readonly violations: readonly Violation[]
  /** `error.details` of the answer, as it came; empty where there was none. */
  readonly details: JsonObject
  readonly #options: ClientErrorOptions

  constructor(message: string, options: ClientErrorOptions) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.kind = options.kind
    this.fix = options.fix
    this.status = options.status
    this.failure = options.failure
    this.retryable = options.retryable ?? false
    this.violations = options.violations ?? []
    this.details = options.details ?? {}
    this.#options = options
  }

  /** The same error with another hint. */
  withFix(fix: string): ClientError {
    return new ClientError(this.message, { ...this.#options, fix })
  }
}
