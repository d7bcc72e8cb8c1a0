// The failure table: one row per way not to succeed, with every projection of it. Nothing else maps errors.
//
// `c1` numbers the row in the seeds' unified table; null marks the rows added by S30. Row 63 there, "retries
// exhausted", is no failure of its own: it is the last failure with `details.exhausted` (S24).
// Ids and codes are unique and never reused.
import type { CallState } from './answer.ts'

export type V1Status = 'ok' | 'error' | 'denied'
export type FourOutcomeStatus = 'success' | 'retryable_error' | 'terminal_error' | 'invalid_request'

/** When the same call may be tried again, as far as the row alone can say; see `isRetryable`. */
export type RetryRule =
  | 'no'
  | 'yes'
  /** once, after the runtime has mended the cause */
  | 'once'
  /** only while nothing was sent, or where a repeat is harmless */
  | 'if-harmless'
  /** only after finding out whether the effect happened */
  | 'query'
  /** resumed by an event; costs no retry */
  | 'wait'

interface RowSpec {
  readonly c1: number | null
  /** The state of a call that ends in this row while its effect is known. */
  readonly state: CallState
  /** `strict` is the code for peers that know only the codes of seed 000. */
  readonly v1: {
    readonly status: V1Status
    readonly code: string
    readonly reason: string
    readonly strict?: string
  }
  readonly dotted: string
  /** `alias` is another spelling that is read, never written. */
  readonly four: { readonly status: FourOutcomeStatus; readonly code: string; readonly alias?: string }
  readonly retry: RetryRule
  readonly http: number
  readonly summary: string
  /** What to do while the effect is known: it did not happen, or nothing is left open by it. */
  readonly fix: string
  /** What to do where it may have happened and a repeat could do harm; see `fixOf`. */
  readonly fixUnknown?: string
}

export interface FailureRow extends RowSpec {
  readonly grpc: GrpcStatus
  /** null: not a protocol error but a tool result with `isError` (S32). */
  readonly jsonRpc: number | null
  readonly exit: number
}

/** Numbers as gRPC defines them. */
export const GRPC_STATUS = {
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const
export type GrpcStatus = keyof typeof GRPC_STATUS

/** S31. */
const GRPC_OF_HTTP: Record<number, GrpcStatus> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  410: 'FAILED_PRECONDITION',
  413: 'RESOURCE_EXHAUSTED',
  422: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

/** S32, for a row whose `retryable` is as the row alone says. */
const EXIT_OF_STATE: Record<CallState, number> = {
  succeeded: 0,
  invalid: 3,
  denied: 4,
  'awaiting-approval': 5,
  running: 5,
  prepared: 5,
  failed: 7,
  'timed-out': 7,
  unknown: 8,
  reconciling: 8,
  canceled: 9,
}

function row(spec: RowSpec): FailureRow {
  const jsonRpc =
    spec.c1 === 1
      ? -32700
      : spec.c1 === 10 || spec.c1 === 11
        ? -32601
        : spec.state === 'invalid'
          ? -32602
          : null
  return Object.freeze({
    ...spec,
    grpc: GRPC_OF_HTTP[spec.http] ?? 'INTERNAL',
    jsonRpc,
    exit:
      spec.retry === 'query'
        ? EXIT_OF_STATE.unknown
        : exitCode(spec.state, spec.retry === 'yes' || spec.retry === 'once'),
  })
}

/** S32: the exit code of a command whose call ended like this. */
export function exitCode(state: CallState, retryable: boolean): number {
  return retryable && (state === 'failed' || state === 'timed-out') ? 6 : EXIT_OF_STATE[state]
}

// biome-ignore format: a row reads as a row
export const FAILURES = {
  'body-unreadable': row({ c1: 1, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_invalid_input' }, dotted: 'input.invalid', four: { status: 'invalid_request', code: 'I-REQ-001' }, retry: 'no', http: 400,
    summary: 'The request body is not readable JSON.',
    fix: 'Send one well-formed JSON document in UTF-8.' }),
  'envelope-invalid': row({ c1: 2, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_invalid_input' }, dotted: 'input.invalid', four: { status: 'invalid_request', code: 'I-REQ-002' }, retry: 'no', http: 422,
    summary: 'The request does not have the shape of its dialect.',
    fix: 'Fix every field listed in details.violations.' }),
  'input-invalid': row({ c1: 3, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_invalid_input' }, dotted: 'input.invalid', four: { status: 'invalid_request', code: 'I-REQ-003' }, retry: 'no', http: 422,
    summary: 'The input does not match the input schema of the tool.',
    fix: 'Fix every path listed in details.violations.' }),
  'input-too-large': row({ c1: 4, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_invalid_input' }, dotted: 'input.invalid', four: { status: 'invalid_request', code: 'I-REQ-004' }, retry: 'no', http: 413,
    summary: 'The request is larger than the limit.',
    fix: 'Send at most details.limit_bytes bytes.' }),
  'constraint-outside-limits': row({ c1: 5, state: 'invalid', v1: { status: 'error', code: 'runtime_policy_invalid', reason: 'tool_runtime_policy_invalid' }, dotted: 'input.invalid', four: { status: 'invalid_request', code: 'I-REQ-005' }, retry: 'no', http: 422,
    summary: 'A constraint of the request goes past what the tool allows.',
    fix: 'Stay within the limits that the tool declares, or leave the constraint out.' }),
  'deadline-past': row({ c1: 6, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_invalid_input' }, dotted: 'timeout.before-submit', four: { status: 'invalid_request', code: 'I-REQ-006' }, retry: 'no', http: 422,
    summary: 'The deadline had already passed when the call arrived.',
    fix: 'Send a later deadline_unix_ms.' }),
  'key-missing': row({ c1: 7, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_invalid_input' }, dotted: 'input.invalid', four: { status: 'invalid_request', code: 'I-REQ-007' }, retry: 'no', http: 428,
    summary: 'This tool demands an explicit idempotency key.',
    fix: 'Add idempotency_key, one per intended effect.' }),
  'inline-credential': row({ c1: 8, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_invalid_input' }, dotted: 'input.invalid', four: { status: 'invalid_request', code: 'I-REQ-008' }, retry: 'no', http: 422,
    summary: 'The request carries a raw credential.',
    fix: 'Remove it, refer to a secret by name, and rotate the one that was sent.' }),
  'version-unsupported': row({ c1: 9, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_invalid_input' }, dotted: 'input.invalid', four: { status: 'terminal_error', code: 'C-CONTRACT-001' }, retry: 'no', http: 400,
    summary: 'The contract version is not supported.',
    fix: 'Use tool_contract_version v1.' }),
  'tool-unknown': row({ c1: 10, state: 'failed', v1: { status: 'error', code: 'unsupported_tool', reason: 'tool_unsupported' }, dotted: 'dependency.unavailable', four: { status: 'terminal_error', code: 'P-PRECOND-001' }, retry: 'no', http: 404,
    summary: 'No such tool in this namespace.',
    fix: 'Check the name, or apply a manifest for it.' }),
  'operation-unknown': row({ c1: 11, state: 'invalid', v1: { status: 'error', code: 'unsupported_tool', reason: 'tool_unsupported' }, dotted: 'input.invalid', four: { status: 'invalid_request', code: 'I-REQ-009' }, retry: 'no', http: 404,
    summary: 'The tool has no such operation.',
    fix: 'Use one of details.operations.' }),
  'version-unmatched': row({ c1: 12, state: 'failed', v1: { status: 'error', code: 'unsupported_tool', reason: 'tool_unsupported' }, dotted: 'dependency.unavailable', four: { status: 'terminal_error', code: 'C-CONTRACT-002' }, retry: 'no', http: 404,
    summary: 'No live version of the tool matches the asked range.',
    fix: 'Widen the range, or pin one of details.versions where they are listed.' }),
  'version-ambiguous': row({ c1: 13, state: 'failed', v1: { status: 'error', code: 'runtime_policy_invalid', reason: 'tool_runtime_policy_invalid' }, dotted: 'conflict', four: { status: 'terminal_error', code: 'C-CONTRACT-003' }, retry: 'no', http: 409,
    summary: 'The asked range matches more than one build.',
    fix: 'Pin an exact version.' }),
  'tool-removed': row({ c1: 14, state: 'failed', v1: { status: 'error', code: 'unsupported_tool', reason: 'tool_unsupported' }, dotted: 'dependency.unavailable', four: { status: 'terminal_error', code: 'C-CONTRACT-004' }, retry: 'no', http: 410,
    summary: 'The tool is past its removal date.',
    fix: 'Use the replacement in details.replacement where one is named; else ask the owner of the tool.' }),
  'config-invalid': row({ c1: 15, state: 'failed', v1: { status: 'error', code: 'runtime_policy_invalid', reason: 'tool_runtime_policy_invalid' }, dotted: 'dependency.unavailable', four: { status: 'terminal_error', code: 'C-CONTRACT-005' }, retry: 'no', http: 500,
    summary: 'The manifest or a policy of this tool cannot be used.',
    fix: 'The operator corrects the resource named in details.path.' }),
  'integrity-failed': row({ c1: 16, state: 'failed', v1: { status: 'error', code: 'runtime_policy_invalid', reason: 'tool_runtime_policy_invalid' }, dotted: 'dependency.unavailable', four: { status: 'terminal_error', code: 'D-DATA-001' }, retry: 'no', http: 500,
    summary: 'An artifact does not match its pinned digest or signature.',
    fix: 'Run the build that is pinned, or publish and pin the new one.' }),
  unauthenticated: row({ c1: 17, state: 'denied', v1: { status: 'denied', code: 'permission_denied', reason: 'tool_permission_denied' }, dotted: 'permission.denied', four: { status: 'terminal_error', code: 'A-AUTH-001' }, retry: 'no', http: 401,
    summary: 'The caller is not authenticated.',
    fix: 'Send a valid bearer token.' }),
  'permission-denied': row({ c1: 18, state: 'denied', v1: { status: 'denied', code: 'permission_denied', reason: 'tool_permission_denied' }, dotted: 'permission.denied', four: { status: 'terminal_error', code: 'A-AUTH-002' }, retry: 'no', http: 403,
    summary: 'The caller may not do this.',
    fix: 'Ask for the permissions in details.missing; details.policy_ref names the policy where one decided.' }),
  'approval-pending': row({ c1: 19, state: 'awaiting-approval', v1: { status: 'denied', code: 'approval_pending', reason: 'tool_approval_pending' }, dotted: 'approval.required', four: { status: 'terminal_error', code: 'A-AUTH-010' }, retry: 'wait', http: 202,
    summary: 'The call waits for approval.',
    fix: 'It runs only after the approval in details.approval_id is given; asking again with the same key shows where it stands.' }),
  'approval-denied': row({ c1: 20, state: 'denied', v1: { status: 'denied', code: 'approval_denied', reason: 'tool_approval_denied' }, dotted: 'permission.denied', four: { status: 'terminal_error', code: 'A-AUTH-011' }, retry: 'no', http: 403,
    summary: 'The approval was refused.',
    fix: 'Change the action, or ask the approver why.' }),
  'approval-expired': row({ c1: 21, state: 'denied', v1: { status: 'denied', code: 'approval_timeout', reason: 'tool_approval_timeout' }, dotted: 'approval.required', four: { status: 'terminal_error', code: 'A-AUTH-012' }, retry: 'no', http: 403,
    summary: 'Nobody decided the approval in time.',
    fix: 'Ask again.' }),
  'approval-stale': row({ c1: 22, state: 'denied', v1: { status: 'denied', code: 'approval_timeout', reason: 'tool_approval_stale' }, dotted: 'approval.required', four: { status: 'terminal_error', code: 'A-AUTH-013' }, retry: 'no', http: 409,
    summary: 'What was approved is not what would run now.',
    fix: 'Ask again for the new payload.' }),
  escalated: row({ c1: 23, state: 'awaiting-approval', v1: { status: 'denied', code: 'approval_pending', reason: 'tool_escalated' }, dotted: 'approval.required', four: { status: 'terminal_error', code: 'A-AUTH-014' }, retry: 'wait', http: 202,
    summary: 'A policy sends this call to a specialist.',
    fix: 'It runs only after the review in details.approval_id; asking again with the same key shows where it stands.' }),
  'transform-invalid': row({ c1: 24, state: 'failed', v1: { status: 'error', code: 'runtime_policy_invalid', reason: 'tool_runtime_policy_invalid' }, dotted: 'input.invalid', four: { status: 'terminal_error', code: 'C-CONTRACT-006' }, retry: 'no', http: 500,
    summary: 'A transform of a policy made the input invalid.',
    fix: 'The operator fixes the transform rule in details.policy_ref.' }),
  'policy-unavailable': row({ c1: 25, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_policy_unavailable' }, dotted: 'dependency.unavailable', four: { status: 'retryable_error', code: 'R-UPSTREAM-010' }, retry: 'yes', http: 503,
    summary: 'The decision could not be computed, so nothing ran.',
    fix: 'Retry later; the operator looks at the policy store.' }),
  'egress-denied': row({ c1: 26, state: 'denied', v1: { status: 'denied', code: 'permission_denied', reason: 'tool_egress_denied' }, dotted: 'permission.denied', four: { status: 'terminal_error', code: 'A-AUTH-020' }, retry: 'no', http: 403,
    summary: 'The target is outside the egress rules of the tool.',
    fix: 'Allow the host in the egress rules of the tool.' }),
  'capability-denied': row({ c1: 27, state: 'denied', v1: { status: 'denied', code: 'permission_denied', reason: 'tool_permission_denied' }, dotted: 'permission.denied', four: { status: 'terminal_error', code: 'A-AUTH-021' }, retry: 'no', http: 403,
    summary: 'The tool used something it was not granted.',
    fix: 'Declare the grant in the manifest of the tool.' }),
  'sandbox-violation': row({ c1: 28, state: 'denied', v1: { status: 'denied', code: 'permission_denied', reason: 'tool_sandbox_violation' }, dotted: 'permission.denied', four: { status: 'terminal_error', code: 'A-AUTH-022' }, retry: 'no', http: 403,
    summary: 'The tool tried to leave its sandbox.',
    fix: 'Stop using the tool and tell its owner.' }),
  'secret-missing': row({ c1: 29, state: 'failed', v1: { status: 'error', code: 'secret_resolution_failed', reason: 'tool_secret_resolution_failed' }, dotted: 'dependency.unavailable', four: { status: 'terminal_error', code: 'A-AUTH-030' }, retry: 'no', http: 500,
    summary: 'A credential of the tool cannot be resolved.',
    fix: 'The operator makes the secret of the tool resolvable here, or removes spec.auth where the tool needs none.' }),
  'secret-out-of-scope': row({ c1: 30, state: 'denied', v1: { status: 'denied', code: 'secret_resolution_failed', reason: 'tool_secret_resolution_failed' }, dotted: 'permission.denied', four: { status: 'terminal_error', code: 'A-AUTH-031' }, retry: 'no', http: 403,
    summary: 'The credential named is not the one that the tool declares.',
    fix: 'Leave auth out, or name the secret that the tool declares.' }),
  'token-exchange-failed': row({ c1: 31, state: 'failed', v1: { status: 'error', code: 'auth_invalid', reason: 'tool_auth_invalid' }, dotted: 'dependency.unavailable', four: { status: 'terminal_error', code: 'A-AUTH-032' }, retry: 'no', http: 502,
    summary: 'The token endpoint refused the credentials of the tool.',
    fix: 'Check the client id, the client secret and tokenURL.' }),
  'token-expired': row({ c1: 32, state: 'failed', v1: { status: 'error', code: 'auth_expired', reason: 'tool_auth_expired' }, dotted: 'permission.denied', four: { status: 'retryable_error', code: 'A-AUTH-033' }, retry: 'once', http: 502,
    summary: 'The access token had expired.',
    fix: 'Retry once; if it stays so, the credential of the tool has to be renewed.' }),
  'upstream-unauthorized': row({ c1: 33, state: 'failed', v1: { status: 'error', code: 'auth_invalid', reason: 'tool_auth_invalid' }, dotted: 'permission.denied', four: { status: 'terminal_error', code: 'A-AUTH-034' }, retry: 'no', http: 502,
    summary: 'The tool answered that our credential is not valid.',
    fix: 'The operator gives the tool a credential that it accepts.' }),
  'upstream-forbidden': row({ c1: 34, state: 'failed', v1: { status: 'error', code: 'auth_forbidden', reason: 'tool_auth_forbidden' }, dotted: 'permission.denied', four: { status: 'terminal_error', code: 'A-AUTH-035' }, retry: 'no', http: 502,
    summary: 'The tool answered that our credential may not do this.',
    fix: 'Have the missing rights granted at the tool.' }),
  'isolation-unavailable': row({ c1: 35, state: 'failed', v1: { status: 'error', code: 'isolation_unavailable', reason: 'tool_isolation_unavailable' }, dotted: 'dependency.unavailable', four: { status: 'terminal_error', code: 'S-TOOL-004' }, retry: 'no', http: 503,
    summary: 'The declared type or isolation cannot be provided here.',
    fix: 'Use a runtime that provides it, or declare another type or isolation; it is never weakened by itself.' }),
  'tool-unhealthy': row({ c1: 36, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_unhealthy' }, dotted: 'dependency.unavailable', four: { status: 'retryable_error', code: 'S-TOOL-005', alias: 'S-TOOL-UNAVAILABLE' }, retry: 'yes', http: 503,
    summary: 'The tool is unhealthy, quarantined or disabled.',
    fix: 'Retry later: after details.retry_after_ms where it is given.' }),
  'circuit-open': row({ c1: 37, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_circuit_open' }, dotted: 'dependency.unavailable', four: { status: 'retryable_error', code: 'R-UPSTREAM-004' }, retry: 'yes', http: 503,
    summary: 'The tool failed too often lately; its circuit is open.',
    fix: 'Wait details.retry_after_ms.' }),
  'rate-limited': row({ c1: 38, state: 'failed', v1: { status: 'error', code: 'rate_limited', reason: 'tool_rate_limited', strict: 'execution_failed' }, dotted: 'rate.exceeded', four: { status: 'retryable_error', code: 'R-CAP-001' }, retry: 'yes', http: 429,
    summary: 'The rate limit of the tool is spent.',
    fix: 'Wait details.retry_after_ms.' }),
  'concurrency-exceeded': row({ c1: 39, state: 'failed', v1: { status: 'error', code: 'rate_limited', reason: 'tool_concurrency_exceeded', strict: 'execution_failed' }, dotted: 'rate.exceeded', four: { status: 'retryable_error', code: 'R-CAP-002' }, retry: 'yes', http: 429,
    summary: 'As many calls as the tool allows are running.',
    fix: 'Wait details.retry_after_ms, or run fewer at once.' }),
  'quota-exhausted': row({ c1: 40, state: 'failed', v1: { status: 'error', code: 'rate_limited', reason: 'tool_quota_exhausted', strict: 'execution_failed' }, dotted: 'rate.exceeded', four: { status: 'terminal_error', code: 'P-PRECOND-008' }, retry: 'no', http: 429,
    summary: 'The budget of this period is spent.',
    fix: 'Raise the budget or wait for details.resets_at.' }),
  'timeout-before-send': row({ c1: 41, state: 'timed-out', v1: { status: 'error', code: 'timeout', reason: 'tool_execution_timeout' }, dotted: 'timeout.before-submit', four: { status: 'retryable_error', code: 'R-TIMEOUT-002' }, retry: 'yes', http: 504,
    summary: 'Time ran out before anything was sent.',
    fix: 'Nothing was sent: send it again, with a later deadline where it had one.' }),
  timeout: row({ c1: 42, state: 'timed-out', v1: { status: 'error', code: 'timeout', reason: 'tool_execution_timeout' }, dotted: 'timeout.before-submit', four: { status: 'retryable_error', code: 'R-TIMEOUT-001' }, retry: 'if-harmless', http: 504,
    summary: 'The tool did not answer in time; a repeat is harmless.',
    fix: 'Retry; a longer timeout in the request helps only up to the spec.runtime.timeout of the tool.' }),
  'timeout-unknown-commit': row({ c1: 43, state: 'timed-out', v1: { status: 'error', code: 'timeout', reason: 'tool_execution_timeout' }, dotted: 'timeout.unknown-commit', four: { status: 'terminal_error', code: 'R-TIMEOUT-003' }, retry: 'query', http: 504,
    summary: 'The tool did not answer in time, and its effect may have happened.',
    fix: 'Nothing happened: send it again with a new key and more time.' }),
  'callback-timeout': row({ c1: 44, state: 'timed-out', v1: { status: 'error', code: 'timeout', reason: 'tool_execution_timeout' }, dotted: 'timeout.unknown-commit', four: { status: 'terminal_error', code: 'R-TIMEOUT-004' }, retry: 'query', http: 504,
    summary: 'A long-running tool never reported its end.',
    fix: 'Nothing happened: send it again with a new key.' }),
  canceled: row({ c1: 45, state: 'canceled', v1: { status: 'error', code: 'canceled', reason: 'tool_execution_canceled' }, dotted: 'canceled', four: { status: 'terminal_error', code: 'P-PRECOND-010' }, retry: 'no', http: 409,
    summary: 'The call was canceled.',
    fix: 'Nothing happened: send it again with a new key if it is still wanted.',
    fixUnknown: 'It was sent before it was canceled and may have happened: find out from the tool; do not send it again until you know.' }),
  'connect-failed': row({ c1: 46, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_backend_failure' }, dotted: 'dependency.unavailable', four: { status: 'retryable_error', code: 'R-UPSTREAM-001' }, retry: 'if-harmless', http: 502,
    summary: 'The connection to the tool failed.',
    fix: 'Retry; if it stays so, check the endpoint of the tool and that it runs.' }),
  'upstream-error': row({ c1: 47, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_backend_failure' }, dotted: 'dependency.unavailable', four: { status: 'retryable_error', code: 'R-UPSTREAM-002' }, retry: 'if-harmless', http: 502,
    summary: 'The tool reported a fault of its own.',
    fix: 'Retry with backoff where retryable; else see the tool.' }),
  'upstream-throttled': row({ c1: 48, state: 'failed', v1: { status: 'error', code: 'rate_limited', reason: 'tool_backend_failure', strict: 'execution_failed' }, dotted: 'rate.exceeded', four: { status: 'retryable_error', code: 'R-UPSTREAM-003', alias: 'R-HTTP-429' }, retry: 'yes', http: 503,
    summary: 'The tool asks for fewer calls.',
    fix: 'Retry later and less often: after details.retry_after_ms where it is given.' }),
  'upstream-rejected': row({ c1: 49, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_backend_failure' }, dotted: 'input.invalid', four: { status: 'terminal_error', code: 'P-PRECOND-004' }, retry: 'no', http: 502,
    summary: 'The tool rejected the request.',
    fix: 'Correct the arguments or the resource they name.' }),
  'key-conflict': row({ c1: 50, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_idempotency_conflict' }, dotted: 'conflict', four: { status: 'terminal_error', code: 'P-PRECOND-005' }, retry: 'no', http: 409,
    summary: 'This key was already used for another payload.',
    fix: 'Use a new key for a new effect, or send the original payload.' }),
  'upstream-conflict': row({ c1: 51, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_backend_failure' }, dotted: 'conflict', four: { status: 'terminal_error', code: 'P-PRECOND-006' }, retry: 'no', http: 409,
    summary: 'The tool reported a conflict with its present state.',
    fix: 'Read the state again and rebuild the input.' }),
  'commit-token-invalid': row({ c1: 52, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_commit_invalid' }, dotted: 'conflict', four: { status: 'terminal_error', code: 'P-PRECOND-007' }, retry: 'no', http: 409,
    summary: 'The commit token is unknown, expired or used.',
    fix: 'Run prepare again.' }),
  'partial-effect': row({ c1: 53, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_partial_effect' }, dotted: 'partial-effect', four: { status: 'terminal_error', code: 'D-DATA-010' }, retry: 'no', http: 502,
    summary: 'Only a part of the effect happened.',
    fix: 'Look at side_effects, then compensate or complete by hand.',
    fixUnknown: 'A part of it has happened: see side_effects and find out the rest from the tool; complete or undo it there.' }),
  'compensation-failed': row({ c1: 54, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_compensation_failed' }, dotted: 'compensation.failed', four: { status: 'terminal_error', code: 'D-DATA-011' }, retry: 'no', http: 500,
    summary: 'Undoing the effect failed.',
    fix: 'A person repairs it; see the owner of the tool.' }),
  'tool-crashed': row({ c1: 55, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_backend_failure' }, dotted: 'dependency.unavailable', four: { status: 'retryable_error', code: 'S-TOOL-001' }, retry: 'if-harmless', http: 502,
    summary: 'The tool crashed.',
    fix: 'Report it to the owner of the tool.' }),
  'resource-limit': row({ c1: 56, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_resource_limit' }, dotted: 'dependency.unavailable', four: { status: 'retryable_error', code: 'S-TOOL-002' }, retry: 'if-harmless', http: 502,
    summary: 'The tool hit a limit on memory, processor or processes.',
    fix: 'Raise the limit of the tool or shrink the input.' }),
  'reply-malformed': row({ c1: 57, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_backend_failure' }, dotted: 'output.invalid', four: { status: 'terminal_error', code: 'C-CONTRACT-010' }, retry: 'no', http: 502,
    summary: 'The reply of the tool is not a contract envelope.',
    fix: 'The owner of the tool mends its replies; details.violations says what is wrong where that is known.',
    fixUnknown: 'It may have happened: find out from the tool; do not send it again until you know. The owner of the tool mends its replies.' }),
  'output-invalid': row({ c1: 58, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_output_invalid' }, dotted: 'output.invalid', four: { status: 'terminal_error', code: 'D-DATA-002' }, retry: 'no', http: 502,
    summary: 'The output does not match the output schema of the tool.',
    fix: 'Fix the tool or its schema: see details.violations.',
    fixUnknown: 'It has most likely happened: find out from the tool; do not send it again until you know. Then fix the tool or its schema: see details.violations.' }),
  'output-too-large': row({ c1: 59, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_output_too_large' }, dotted: 'output.invalid', four: { status: 'terminal_error', code: 'D-DATA-003' }, retry: 'no', http: 502,
    summary: 'The output is larger than the limit.',
    fix: 'Ask for less at a time, or raise limits.output_bytes.',
    fixUnknown: 'It has most likely happened: find out from the tool; do not send it again until you know. Ask for less at a time from then on.' }),
  nondeterministic: row({ c1: 60, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_nondeterministic' }, dotted: 'output.invalid', four: { status: 'terminal_error', code: 'D-DATA-005' }, retry: 'no', http: 500,
    summary: 'A replay gave another output than the recorded one.',
    fix: 'Stop using this version of the tool and tell its owner.' }),
  'intent-not-recorded': row({ c1: 61, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_audit_unavailable' }, dotted: 'dependency.unavailable', four: { status: 'retryable_error', code: 'R-UPSTREAM-011' }, retry: 'yes', http: 503,
    summary: 'The intent could not be written down, so nothing was sent.',
    fix: 'Retry later; the operator restores the store.' }),
  'outcome-not-recorded': row({ c1: 62, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_audit_unavailable' }, dotted: 'partial-effect', four: { status: 'terminal_error', code: 'D-DATA-012' }, retry: 'query', http: 500,
    summary: 'The effect ran, but its outcome could not be written down.',
    fix: 'Find out from the tool what happened; the operator restores the store.',
    fixUnknown: 'It may have happened and is not on record: find out from the tool; do not send it again until you know.' }),
  internal: row({ c1: 64, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_backend_failure' }, dotted: 'internal', four: { status: 'retryable_error', code: 'S-TOOL-006' }, retry: 'if-harmless', http: 500,
    summary: 'A fault inside the runtime.',
    fix: 'Report it with the trace id.' }),
  'outcome-unknown': row({ c1: null, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_outcome_unknown' }, dotted: 'timeout.unknown-commit', four: { status: 'terminal_error', code: 'D-DATA-013' }, retry: 'query', http: 409,
    summary: 'An earlier call with this key may have had its effect.',
    fix: 'Find out from the tool whether the earlier call had its effect; its key stays held meanwhile.',
    fixUnknown: 'An earlier call (details.call_id, where known) may have done it: find out from the tool. Its key stays held meanwhile.' }),
  interrupted: row({ c1: null, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_interrupted' }, dotted: 'timeout.unknown-commit', four: { status: 'terminal_error', code: 'D-DATA-014' }, retry: 'query', http: 500,
    summary: 'The runtime stopped while the call was under way.',
    fix: 'Nothing happened: send it again.' }),
  'effect-repeated': row({ c1: null, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_effect_repeated' }, dotted: 'conflict', four: { status: 'terminal_error', code: 'P-PRECOND-011' }, retry: 'no', http: 409,
    summary: 'The same effect was already asked for.',
    fix: 'If it is meant twice, change a field of its identity; else use details.call_id.' }),
  'key-expired': row({ c1: null, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_key_expired' }, dotted: 'conflict', four: { status: 'terminal_error', code: 'P-PRECOND-012' }, retry: 'no', http: 410,
    summary: 'This key was used before and its outcome is no longer kept.',
    fix: 'Use a new key for a new effect.' }),
  frozen: row({ c1: null, state: 'denied', v1: { status: 'denied', code: 'permission_denied', reason: 'tool_frozen' }, dotted: 'permission.denied', four: { status: 'terminal_error', code: 'A-AUTH-040' }, retry: 'no', http: 403,
    summary: 'An operator has frozen this.',
    fix: 'Wait until it is thawed; details.reason says why.' }),
  'output-withheld': row({ c1: null, state: 'denied', v1: { status: 'denied', code: 'permission_denied', reason: 'tool_output_withheld' }, dotted: 'permission.denied', four: { status: 'terminal_error', code: 'A-AUTH-041' }, retry: 'no', http: 403,
    summary: 'The output is classified above the clearance of the caller.',
    fix: 'Ask for the clearance in details.classification.' }),
  'control-unavailable': row({ c1: null, state: 'failed', v1: { status: 'error', code: 'runtime_policy_invalid', reason: 'tool_control_unavailable' }, dotted: 'dependency.unavailable', four: { status: 'terminal_error', code: 'C-CONTRACT-007' }, retry: 'no', http: 500,
    summary: 'A declared control cannot be enforced here, so the call was refused.',
    fix: 'Remove the field in details.path, or use a build that enforces it.' }),
  'approval-self': row({ c1: null, state: 'denied', v1: { status: 'denied', code: 'permission_denied', reason: 'tool_approval_self' }, dotted: 'permission.denied', four: { status: 'terminal_error', code: 'A-AUTH-042' }, retry: 'no', http: 403,
    summary: 'Nobody approves a call of their own.',
    fix: 'Let another person decide.' }),
  'callback-invalid': row({ c1: null, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_callback_invalid' }, dotted: 'input.invalid', four: { status: 'invalid_request', code: 'I-REQ-010' }, retry: 'no', http: 401,
    summary: 'The callback is not signed for this call.',
    fix: 'Sign the body with the token of the call, within five minutes.' }),
  'commit-repeated': row({ c1: null, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_commit_repeated' }, dotted: 'conflict', four: { status: 'terminal_error', code: 'P-PRECOND-013' }, retry: 'no', http: 409,
    summary: 'This call was already committed, or is being committed.',
    fix: 'Nothing is left to do: read the call to see how it ended.' }),
  'commit-expired': row({ c1: null, state: 'timed-out', v1: { status: 'error', code: 'invalid_input', reason: 'tool_commit_expired' }, dotted: 'conflict', four: { status: 'terminal_error', code: 'P-PRECOND-014' }, retry: 'no', http: 410,
    summary: 'It was not committed in time and is rolled back.',
    fix: 'Prepare it again with a new key, and commit before details.commit_by.' }),
  'rolled-back': row({ c1: null, state: 'canceled', v1: { status: 'error', code: 'invalid_input', reason: 'tool_rolled_back' }, dotted: 'conflict', four: { status: 'terminal_error', code: 'P-PRECOND-015' }, retry: 'no', http: 409,
    summary: 'It was rolled back, or is being rolled back.',
    fix: 'Prepare it again with a new key.' }),
  'commit-unknown': row({ c1: null, state: 'failed', v1: { status: 'error', code: 'execution_failed', reason: 'tool_commit_unknown' }, dotted: 'timeout.unknown-commit', four: { status: 'terminal_error', code: 'D-DATA-015' }, retry: 'query', http: 504,
    summary: 'The commit was sent and no definite answer came.',
    fix: 'Find out from the tool whether it was committed.',
    fixUnknown: 'It may be committed: find out from the tool, or wait until it was asked. It is never committed blindly again.' }),
  'saga-closed': row({ c1: null, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_saga_closed' }, dotted: 'conflict', four: { status: 'terminal_error', code: 'P-PRECOND-016' }, retry: 'no', http: 409,
    summary: 'There is no open saga with this id for this caller.',
    fix: 'Open a saga first, and use its id.' }),
  'saga-unfinished': row({ c1: null, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_saga_unfinished' }, dotted: 'conflict', four: { status: 'terminal_error', code: 'P-PRECOND-019' }, retry: 'no', http: 409,
    summary: 'Calls of this saga are still open.',
    fix: 'Wait for the calls in details.open, or settle them; or abort the saga.' }),
  'approval-closed': row({ c1: null, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_approval_closed' }, dotted: 'conflict', four: { status: 'terminal_error', code: 'P-PRECOND-020' }, retry: 'no', http: 409,
    summary: 'There is nothing left to decide: the approval has ended.',
    fix: 'Read the approval to see how it ended; its caller may ask again.' }),
  'not-unknown': row({ c1: null, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_not_unknown' }, dotted: 'conflict', four: { status: 'terminal_error', code: 'P-PRECOND-017' }, retry: 'no', http: 409,
    summary: 'Only an effect that is not known can be settled by hand.',
    fix: 'Nothing is left to settle: read the call to see how it stands.' }),
  'not-compensable': row({ c1: null, state: 'invalid', v1: { status: 'error', code: 'invalid_input', reason: 'tool_not_compensable' }, dotted: 'conflict', four: { status: 'terminal_error', code: 'P-PRECOND-018' }, retry: 'no', http: 409,
    summary: 'There is nothing to undo, or the tool declares no way to undo it.',
    fix: 'See details.effect_state; declare effect.compensation to be able to undo later calls.' }),
} as const satisfies Record<string, FailureRow>

export type FailureId = keyof typeof FAILURES

export const FAILURE_IDS = Object.keys(FAILURES) as readonly FailureId[]

export function failureRow(id: FailureId): FailureRow {
  return FAILURES[id]
}
