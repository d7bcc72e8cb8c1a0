// The reply of a tool that speaks for itself: in an envelope, or as a ToolError of a native handler. The dialect says
// which row its words mean; whether they are definite is decided here (S23).
import type { ToolFailure, ToolReply } from '../contract/dialect/dialect.ts'
import { failureOfReply } from '../contract/dialect/reply-failure.ts'
import { FAILURE_IDS, FAILURES, type FailureId, failureRow } from '../contract/failures.ts'
import { isRepeatHarmless } from '../contract/projection.ts'
import type { ResolvedOperation } from '../resource/resolved-tool.ts'
import type { JsonObject } from '../util/json.ts'
import { isDefiniteStatus, isSuccessStatus } from './http-status.ts'
import { copyAsJson } from './json-copy.ts'
import type { Refusal, Reply } from './transport.ts'

/** More than this of what a tool adds to its error is left out. */
const DETAIL_BYTES = 16_384
const MAX_VIOLATIONS = 20

/** It may still run, when somebody approves it over there. */
const STILL_OPEN = 202

/**
 * The HTTP status that a code of seed 000 stands for. S23 lists the definite refusals by status, and
 * `effect.refused_on` changes that list, so a refusal in words counts exactly when its status would.
 */
const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  invalid_input: 422,
  unsupported_tool: 404,
  permission_denied: 403,
  auth_invalid: 401,
  auth_expired: 401,
  auth_forbidden: 403,
  rate_limited: 429,
  approval_denied: 403,
  approval_timeout: 403,
  approval_pending: STILL_OPEN,
}

/** The same for the classes of seed 004 that refuse; every other class reports something that went wrong on the way. */
const STATUS_OF_CLASS: Readonly<Record<string, number>> = { 'I-REQ': 422, 'A-AUTH': 403, 'R-CAP': 429 }

const WENT_WRONG = 500

/** Rows that mean the same here as in the Writ that a tool may be. No other can be claimed by a tool. */
const ROWS_OF_A_TOOL: ReadonlySet<FailureId> = new Set([
  'tool-crashed',
  'resource-limit',
  'partial-effect',
  'upstream-conflict',
  'upstream-throttled',
])

/** How the reply came. Native handlers have neither. */
interface ReplyFrame {
  readonly httpStatus?: number
  /** From the Retry-After header; what the envelope says comes first. */
  readonly retryAfterMs?: number
}

export function envelopeReply(
  reply: ToolReply,
  bytes: number,
  operation: ResolvedOperation,
  frame: ReplyFrame = {},
): Reply {
  if (reply.kind === 'failure') return toolRefusal(reply, operation, frame)
  if (reply.kind === 'malformed') {
    return {
      kind: 'failure',
      failure: 'reply-malformed',
      message: 'the reply of the tool is not an envelope of its contract, or answers another request',
      details: {
        violations: reply.violations.slice(0, MAX_VIOLATIONS).map(({ path, message }) => ({ path, message })),
      },
      definite: false,
    }
  }
  return {
    kind: 'success',
    output: reply.output,
    bytes,
    ...(reply.warnings === undefined ? {} : { warnings: reply.warnings }),
    ...(reply.sideEffects === undefined ? {} : { sideEffects: reply.sideEffects }),
    ...(reply.usage === undefined ? {} : { usage: reply.usage }),
    ...(reply.commitToken === undefined ? {} : { commitToken: reply.commitToken }),
  }
}

/** The refusal of a tool that says itself how it failed. */
export function toolRefusal(
  said: ToolFailure,
  operation: ResolvedOperation,
  frame: ReplyFrame = {},
): Refusal {
  const { httpStatus } = frame
  const read = failureOfReply(said)
  const meant = statusMeant(said)
  const harmless = meant !== STILL_OPEN && (said.harmless || operation.harmlessErrors.includes(said.code))
  // A status other than 2xx is the more trustworthy word on whether anything happened.
  const decisive = httpStatus === undefined || isSuccessStatus(httpStatus) ? meant : httpStatus
  const retryAfterMs = read.retryAfterMs ?? frame.retryAfterMs
  const { details, warnings } = bounded(read.details, said)
  return {
    kind: 'failure',
    failure: rowOf(said, read.failure, harmless, operation),
    message: read.message,
    details: {
      ...details,
      ...(httpStatus === undefined ? {} : { http_status: httpStatus, upstream_status: httpStatus }),
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
    },
    definite: harmless || (meant !== STILL_OPEN && isDefiniteStatus(decisive, operation)),
    ...(read.toolRetryable === undefined ? {} : { toolRetryable: read.toolRetryable }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(said.sideEffects === undefined ? {} : { sideEffects: said.sideEffects }),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(said.usage === undefined ? {} : { usage: said.usage }),
  }
}

function rowOf(
  said: ToolFailure,
  read: FailureId,
  harmless: boolean,
  operation: ResolvedOperation,
): FailureId {
  const named = namedRow(said)
  if (named !== undefined && ROWS_OF_A_TOOL.has(named)) return named
  if (read === 'timeout' && !harmless && !isRepeatHarmless(operation.effect)) return 'timeout-unknown-commit'
  return read
}

/** A tool that is a Writ itself names its row. */
function namedRow(said: ToolFailure): FailureId | undefined {
  const named = said.details?.failure
  return typeof named === 'string' && Object.hasOwn(FAILURES, named) ? (named as FailureId) : undefined
}

function statusMeant(said: ToolFailure): number {
  const fourOutcome = said.dialect === 'four-outcome'
  const row =
    namedRow(said) ??
    (fourOutcome ? FAILURE_IDS.find((id) => failureRow(id).four.code === said.code) : undefined)
  if (row !== undefined) return failureRow(row).http
  const table = fourOutcome ? STATUS_OF_CLASS : STATUS_OF_CODE
  const word = fourOutcome ? said.code.split('-').slice(0, 2).join('-') : said.code
  if (Object.hasOwn(table, word)) return table[word] ?? WENT_WRONG
  return said.status === 'denied' ? 403 : WENT_WRONG
}

function bounded(
  details: JsonObject,
  said: ToolFailure,
): { details: JsonObject; warnings: readonly string[] } {
  const warnings = said.warnings ?? []
  const copy = copyAsJson(details, DETAIL_BYTES)
  if (copy.ok) return { details: copy.value as JsonObject, warnings }
  const why = copy.reason === 'too-large' ? `larger than ${DETAIL_BYTES} bytes` : 'not JSON'
  return {
    details: { tool_status: said.status, tool_code: said.code.slice(0, 128) },
    warnings: [...warnings, `the details of the tool's error were left out: ${why}`],
  }
}
