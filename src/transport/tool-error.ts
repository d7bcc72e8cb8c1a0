// How a handler says that its tool failed, in words that are meant for the caller.
import type { JsonObject } from '../util/json.ts'

export interface ToolErrorOptions {
  /** A code of the contract, such as `invalid_input`, or one of the tool's own. */
  readonly code?: string
  /** `none` promises that nothing happened, so that the call may be tried again (S23). */
  readonly effect?: 'none'
  /** Whether trying again may help. */
  readonly retryable?: boolean
  /** Shown to the caller: no secrets. */
  readonly details?: JsonObject
  readonly cause?: unknown
}

/** Every other error that a handler throws is shown as a crash, without its message. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly code: string | undefined
  readonly effect: 'none' | undefined
  readonly retryable: boolean | undefined
  readonly details: JsonObject | undefined

  constructor(message: string, options: ToolErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = options.code
    this.effect = options.effect
    this.retryable = options.retryable
    this.details = options.details
  }
}
