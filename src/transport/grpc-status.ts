// The statuses of gRPC and the rows they mean (S31). The one place where they become rows.
import type { FailureId } from '../contract/failures.ts'
import { isRepeatHarmless } from '../contract/projection.ts'
import type { ResolvedOperation } from '../resource/resolved-tool.ts'
import { isDefiniteStatus } from './http-status.ts'
import type { Refusal } from './transport.ts'

interface Meaning {
  readonly name: string
  readonly failure: FailureId
  /** The HTTP status that says the same: S23 and `effect.refused_on` speak of those. */
  readonly http: number
}

/** By number. */
const STATUSES: Readonly<Record<number, Meaning>> = {
  1: { name: 'CANCELLED', failure: 'upstream-error', http: 500 },
  2: { name: 'UNKNOWN', failure: 'upstream-error', http: 500 },
  3: { name: 'INVALID_ARGUMENT', failure: 'upstream-rejected', http: 400 },
  4: { name: 'DEADLINE_EXCEEDED', failure: 'timeout', http: 504 },
  5: { name: 'NOT_FOUND', failure: 'upstream-rejected', http: 404 },
  6: { name: 'ALREADY_EXISTS', failure: 'upstream-conflict', http: 409 },
  7: { name: 'PERMISSION_DENIED', failure: 'upstream-forbidden', http: 403 },
  8: { name: 'RESOURCE_EXHAUSTED', failure: 'upstream-throttled', http: 429 },
  9: { name: 'FAILED_PRECONDITION', failure: 'upstream-conflict', http: 409 },
  10: { name: 'ABORTED', failure: 'upstream-conflict', http: 409 },
  11: { name: 'OUT_OF_RANGE', failure: 'upstream-rejected', http: 400 },
  12: { name: 'UNIMPLEMENTED', failure: 'upstream-rejected', http: 404 },
  13: { name: 'INTERNAL', failure: 'upstream-error', http: 500 },
  14: { name: 'UNAVAILABLE', failure: 'connect-failed', http: 503 },
  15: { name: 'DATA_LOSS', failure: 'upstream-error', http: 500 },
  16: { name: 'UNAUTHENTICATED', failure: 'upstream-unauthorized', http: 401 },
}

const OK = 0
const MESSAGE_LENGTH = 400

/** undefined for what is no status at all; one that nobody knows counts as UNKNOWN, as the protocol says. */
export function readGrpcStatus(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,3}$/.test(text) ? Number(text) : undefined
}

/** How long the service wants to be left alone; a negative number there means that it wants no second try at all. */
export function readPushback(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined
}

export function isOk(status: number): boolean {
  return status === OK
}

export function grpcRefusal(
  status: number,
  message: string | undefined,
  operation: ResolvedOperation,
  retryAfterMs: number | undefined,
): Refusal {
  const { name, failure, http } = STATUSES[status] ?? {
    name: 'UNKNOWN',
    failure: 'upstream-error',
    http: 500,
  }
  // Servers put the words of any exception there; those may hold secrets, and are no answer to the caller.
  const said = failure === 'upstream-error' ? '' : readable(message)
  const unsure = failure === 'timeout' && !isRepeatHarmless(operation.effect)
  return {
    kind: 'failure',
    failure: unsure ? 'timeout-unknown-commit' : failure,
    message: `the tool answered gRPC ${name}${said === '' ? '' : `: ${said}`}`,
    details: {
      grpc_status: status,
      grpc_status_name: name,
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
    },
    definite: isDefiniteStatus(http, operation),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

/** `grpc-message` is percent-encoded UTF-8; what is not is shown as it came. */
function readable(message: string | undefined): string {
  if (message === undefined) return ''
  let text = message
  try {
    text = decodeURIComponent(message)
  } catch {
    // Broken encoding is the peer's; its words are still worth showing.
  }
  return text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, MESSAGE_LENGTH)
}
