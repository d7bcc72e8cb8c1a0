// Every transport with every way in which a call over it can fail: the row, and what it means for a read and for a write
// whose effect nobody has declared. By hand, from S16, S22, S23, S24 and the reference of the transports.
import type { CallState } from '../../src/contract/answer.ts'
import type { EffectState } from '../../src/contract/effect.ts'
import type { FailureId } from '../../src/contract/failures.ts'

export const SUBJECTS = [
  'http',
  'external',
  'webhook-callback',
  'grpc',
  'mcp over HTTP',
  'mcp over standard streams',
  'cli',
] as const
export type Subject = (typeof SUBJECTS)[number]

export type Kind = 'read' | 'write'

export type Cell = readonly [row: FailureId, state: CallState, effect: EffectState, retryable: boolean]

/** Without a cell there is no such tool. */
export type Expected = Readonly<Partial<Record<Kind, Cell>>>

/** Nothing has left, or the tool did nothing for certain. */
function nothing(row: FailureId, retryable: boolean, state: CallState = 'failed'): Expected {
  return { read: [row, state, 'none', retryable], write: [row, state, 'not-done', retryable] }
}

/** Refused before there was an intent: no effect was ever in question. */
function refused(row: FailureId, state: CallState): Expected {
  return { read: [row, state, 'none', false], write: [row, state, 'none', false] }
}

/** It was sent, and nobody knows what the tool did: a read may be tried again where the row says so, a write is held. */
function open(row: FailureId, retryable: boolean, state: CallState = 'failed'): Expected {
  return { read: [row, state, 'none', retryable], write: [row, 'unknown', 'unknown', false] }
}

/** The tool did nothing for certain, and says that it may be tried again: of a write that does not count (S24). */
function saidAgain(row: FailureId): Expected {
  return { read: [row, 'failed', 'none', true], write: [row, 'failed', 'not-done', false] }
}

/** Over every wire, and of every program. */
const EVERYWHERE = {
  'output breaks its schema': open('output-invalid', false),
  'output without end': open('output-too-large', false),
  'no answer': {
    read: ['timeout', 'timed-out', 'none', true],
    write: ['timeout-unknown-commit', 'unknown', 'unknown', false],
  },
  canceled: open('canceled', false, 'canceled'),
  'the runtime ends': open('interrupted', true),
  'secret is not there': nothing('secret-missing', false),
  'secret of another namespace': nothing('secret-out-of-scope', false, 'denied'),
} as const satisfies Readonly<Record<string, Expected>>

const CONTAINER = { 'isolation container': refused('isolation-unavailable', 'failed') } as const

/** What is reached over the network. */
const NETWORK = {
  'no connection': nothing('connect-failed', true),
  'handshake without end': nothing('timeout-before-send', true, 'timed-out'),
  'cut in the reply': open('connect-failed', true),
  'address out of reach': nothing('egress-denied', false, 'denied'),
  'token is refused': nothing('token-exchange-failed', false),
  'fresh token is refused, too': nothing('upstream-unauthorized', false),
  unauthorized: nothing('upstream-unauthorized', false),
  forbidden: nothing('upstream-forbidden', false),
  rejected: nothing('upstream-rejected', false),
  conflict: open('upstream-conflict', false),
  throttled: nothing('upstream-throttled', true),
  fault: open('upstream-error', true),
  'no reply of its protocol': open('reply-malformed', false),
} as const satisfies Readonly<Record<string, Expected>>

/** What tools say in an envelope. */
const ENVELOPE = {
  'says that a part happened': open('partial-effect', false),
  'says that it crashed': open('tool-crashed', true),
  'says that it hit a limit': open('resource-limit', true),
  'says that the token ended': saidAgain('token-expired'),
  'says that it is unhealthy': open('tool-unhealthy', true),
} as const satisfies Readonly<Record<string, Expected>>

const REMOTE = { ...EVERYWHERE, ...CONTAINER, ...NETWORK, ...ENVELOPE } as const

export const CASES: Readonly<Record<Subject, Readonly<Record<string, Expected>>>> = {
  http: {
    ...REMOTE,
    'neither type nor endpoint': refused('config-invalid', 'failed'),
    'input does not fit a query': { read: ['input-invalid', 'invalid', 'none', false] },
  },
  external: REMOTE,
  'webhook-callback': { ...REMOTE, 'work without end': open('callback-timeout', true, 'timed-out') },
  grpc: { ...REMOTE, 'address out of reach': refused('egress-denied', 'denied') },
  'mcp over HTTP': {
    ...EVERYWHERE,
    ...CONTAINER,
    ...NETWORK,
    'tool is no longer offered': refused('tool-unhealthy', 'failed'),
    'input is no object': refused('input-invalid', 'invalid'),
  },
  'mcp over standard streams': {
    ...EVERYWHERE,
    ...CONTAINER,
    'program is not there': nothing('connect-failed', true),
    'handshake without end': nothing('timeout-before-send', true, 'timed-out'),
    'cut in the reply': open('connect-failed', true),
    rejected: nothing('upstream-rejected', false),
    fault: open('upstream-error', true),
    'no reply of its protocol': open('reply-malformed', false),
    'tool is no longer offered': refused('tool-unhealthy', 'failed'),
    'input is no object': refused('input-invalid', 'invalid'),
  },
  cli: {
    ...EVERYWHERE,
    ...CONTAINER,
    'command is not listed': nothing('capability-denied', false, 'denied'),
    'program is not there': nothing('config-invalid', false),
    'argument begins with a dash': nothing('input-invalid', false, 'invalid'),
    'arguments are too large': nothing('input-too-large', false, 'invalid'),
    'exit code that nobody declared': open('tool-crashed', false),
    'ended by a signal': open('tool-crashed', true),
    'ended for using too much': open('resource-limit', true),
    unauthorized: nothing('upstream-unauthorized', false),
    forbidden: nothing('upstream-forbidden', false),
    rejected: nothing('upstream-rejected', false),
    throttled: saidAgain('upstream-throttled'),
    fault: open('upstream-error', true),
    'says that the token ended': saidAgain('token-expired'),
  },
}

/** What callers read in v1: status, code and reason. */
export const V1: Readonly<Partial<Record<FailureId, readonly [string, string, string]>>> = {
  'input-invalid': ['error', 'invalid_input', 'tool_invalid_input'],
  'input-too-large': ['error', 'invalid_input', 'tool_invalid_input'],
  'config-invalid': ['error', 'runtime_policy_invalid', 'tool_runtime_policy_invalid'],
  'egress-denied': ['denied', 'permission_denied', 'tool_egress_denied'],
  'capability-denied': ['denied', 'permission_denied', 'tool_permission_denied'],
  'secret-missing': ['error', 'secret_resolution_failed', 'tool_secret_resolution_failed'],
  'secret-out-of-scope': ['denied', 'secret_resolution_failed', 'tool_secret_resolution_failed'],
  'token-exchange-failed': ['error', 'auth_invalid', 'tool_auth_invalid'],
  'token-expired': ['error', 'auth_expired', 'tool_auth_expired'],
  'upstream-unauthorized': ['error', 'auth_invalid', 'tool_auth_invalid'],
  'upstream-forbidden': ['error', 'auth_forbidden', 'tool_auth_forbidden'],
  'isolation-unavailable': ['error', 'isolation_unavailable', 'tool_isolation_unavailable'],
  'tool-unhealthy': ['error', 'execution_failed', 'tool_unhealthy'],
  'timeout-before-send': ['error', 'timeout', 'tool_execution_timeout'],
  timeout: ['error', 'timeout', 'tool_execution_timeout'],
  'timeout-unknown-commit': ['error', 'timeout', 'tool_execution_timeout'],
  'callback-timeout': ['error', 'timeout', 'tool_execution_timeout'],
  canceled: ['error', 'canceled', 'tool_execution_canceled'],
  interrupted: ['error', 'execution_failed', 'tool_interrupted'],
  'connect-failed': ['error', 'execution_failed', 'tool_backend_failure'],
  'upstream-error': ['error', 'execution_failed', 'tool_backend_failure'],
  'upstream-throttled': ['error', 'rate_limited', 'tool_backend_failure'],
  'upstream-rejected': ['error', 'execution_failed', 'tool_backend_failure'],
  'upstream-conflict': ['error', 'execution_failed', 'tool_backend_failure'],
  'partial-effect': ['error', 'execution_failed', 'tool_partial_effect'],
  'tool-crashed': ['error', 'execution_failed', 'tool_backend_failure'],
  'resource-limit': ['error', 'execution_failed', 'tool_resource_limit'],
  'reply-malformed': ['error', 'execution_failed', 'tool_backend_failure'],
  'output-invalid': ['error', 'execution_failed', 'tool_output_invalid'],
  'output-too-large': ['error', 'execution_failed', 'tool_output_too_large'],
}
