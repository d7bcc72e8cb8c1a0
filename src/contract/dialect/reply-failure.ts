// From a failure in a tool's own words to a row of the table. A tool speaks for itself: none of its words can put a call
// into a state that only the runtime decides, such as waiting for approval.
import type { JsonObject } from '../../util/json.ts'
import { type FailureId, failureRow } from '../failures.ts'
import type { ToolFailure } from './dialect.ts'

/** What a transport tells of a failed attempt, as far as the reply alone can say. */
export interface ReplyFailure {
  readonly failure: FailureId
  readonly message: string
  readonly details: JsonObject
  readonly toolRetryable?: boolean
  readonly retryAfterMs?: number
  /** The tool states that nothing happened. */
  readonly harmless: boolean
}

const ROW_OF_V1_CODE: Readonly<Record<string, FailureId>> = {
  invalid_input: 'upstream-rejected',
  unsupported_tool: 'upstream-rejected',
  runtime_policy_invalid: 'upstream-rejected',
  isolation_unavailable: 'upstream-error',
  permission_denied: 'upstream-forbidden',
  secret_resolution_failed: 'upstream-error',
  timeout: 'timeout',
  // A tool that was canceled by somebody else did not do what we asked (S31).
  canceled: 'upstream-error',
  execution_failed: 'upstream-error',
  rate_limited: 'upstream-throttled',
  auth_invalid: 'upstream-unauthorized',
  auth_forbidden: 'upstream-forbidden',
  auth_expired: 'token-expired',
  approval_pending: 'upstream-rejected',
  approval_denied: 'upstream-rejected',
  approval_timeout: 'upstream-rejected',
}

/** Rows that keep their meaning when a tool reports them; by code or alias. */
const ROWS_OF_A_TOOL: readonly FailureId[] = [
  'token-expired',
  'upstream-unauthorized',
  'upstream-forbidden',
  'tool-unhealthy',
  'upstream-throttled',
  'upstream-conflict',
  'partial-effect',
  'tool-crashed',
  'resource-limit',
]

/** Seed 004 section 5: the prefix is the class. */
const ROW_OF_CLASS: readonly (readonly [prefix: string, id: FailureId])[] = [
  ['I-REQ-', 'upstream-rejected'],
  ['A-AUTH-', 'upstream-forbidden'],
  ['P-PRECOND-', 'upstream-rejected'],
  ['R-TIMEOUT-', 'timeout'],
  ['R-CAP-', 'upstream-throttled'],
  ['R-UPSTREAM-', 'upstream-error'],
  ['S-TOOL-', 'upstream-error'],
  ['C-CONTRACT-', 'upstream-rejected'],
  ['D-DATA-', 'upstream-rejected'],
]

/** Names in details that say what the runtime knows; a tool cannot say them for it. */
const RESERVED: ReadonlySet<string> = new Set([
  'failure',
  'fix',
  'effect',
  'dotted_code',
  'transient',
  'exhausted',
])

export function failureOfReply(reply: ToolFailure): ReplyFailure {
  const kept = Object.entries(reply.details ?? {}).filter(([name]) => !RESERVED.has(name))
  const retryAfter = reply.details?.retry_after_ms
  return {
    failure: reply.dialect === 'four-outcome' ? rowOfFourOutcomeCode(reply.code) : rowOfV1Code(reply.code),
    message: reply.message,
    details: {
      ...Object.fromEntries(kept),
      tool_status: reply.status,
      tool_code: reply.code,
      ...(reply.reason === undefined ? {} : { tool_reason: reply.reason }),
    },
    ...(reply.retryable === undefined ? {} : { toolRetryable: reply.retryable }),
    ...(typeof retryAfter === 'number' && retryAfter >= 0 ? { retryAfterMs: retryAfter } : {}),
    harmless: reply.harmless,
  }
}

function rowOfV1Code(code: string): FailureId {
  return Object.hasOwn(ROW_OF_V1_CODE, code) ? (ROW_OF_V1_CODE[code] ?? 'upstream-error') : 'upstream-error'
}

function rowOfFourOutcomeCode(code: string): FailureId {
  const exact = ROWS_OF_A_TOOL.find((id) => {
    const { four } = failureRow(id)
    return four.code === code || four.alias === code
  })
  return exact ?? ROW_OF_CLASS.find(([prefix]) => code.startsWith(prefix))?.[1] ?? 'upstream-error'
}
