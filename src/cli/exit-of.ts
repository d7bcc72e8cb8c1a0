// Exit codes of what is not the outcome of a call (S32).
import type { ClientError } from '../client/client-error.ts'
import { exitCode, failureRow } from '../contract/failures.ts'
import { EXIT } from './cli-error.ts'

export function exitOfClientError(error: ClientError): number {
  switch (error.kind) {
    case 'unreachable':
      return EXIT.retryable
    case 'interrupted':
      return error.retryable ? EXIT.retryable : EXIT.unknown
    case 'unexpected':
      return EXIT.failed
    case 'refused':
      // What is not there is no fault of the request's form.
      if (error.status === 404) return EXIT.failed
      if (error.failure === undefined) return EXIT.failed
      if (isUnknown(error)) return EXIT.unknown
      return exitCode(failureRow(error.failure).state, error.retryable)
  }
}

/** Not refused but sent, and no definite answer came: whether it happened has to be found out. */
function isUnknown({ failure, retryable, details }: ClientError): boolean {
  if (failure === undefined || retryable || details.effect !== 'unknown') return false
  const { state } = failureRow(failure)
  return state !== 'invalid' && state !== 'denied'
}
