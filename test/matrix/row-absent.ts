// The rows that a call over a transport cannot end in, each with one word for why. A new row, or a new transport, has to be
// put here or into the table of what can happen.
import type { FailureId } from '../../src/contract/failures.ts'
import type { Subject } from './row-table.ts'

/** Rows that are decided before a transport is asked, or after it has answered, and so are the same over all of them. */
export const ELSEWHERE = {
  /** Where a request is read. */
  door: [
    'body-unreadable',
    'envelope-invalid',
    'version-unsupported',
    'inline-credential',
    'unauthenticated',
  ],
  /** Which tool is meant. */
  catalog: [
    'tool-unknown',
    'operation-unknown',
    'version-unmatched',
    'version-ambiguous',
    'tool-removed',
    'control-unavailable',
  ],
  /** What the caller asks for beside the input. */
  bounds: ['constraint-outside-limits', 'deadline-past', 'key-missing'],
  /** Whether it may run. */
  governance: [
    'permission-denied',
    'transform-invalid',
    'policy-unavailable',
    'quota-exhausted',
    'frozen',
    'output-withheld',
  ],
  /** Whether somebody agrees. */
  approval: [
    'approval-pending',
    'approval-denied',
    'approval-expired',
    'approval-stale',
    'approval-self',
    'approval-closed',
    'escalated',
  ],
  /** Whether there is room. */
  admission: ['rate-limited', 'concurrency-exceeded'],
  /** What a key remembers. */
  key: ['key-conflict', 'key-expired', 'effect-repeated', 'outcome-unknown'],
  /** What is done about an effect later. */
  action: [
    'commit-token-invalid',
    'commit-repeated',
    'commit-expired',
    'commit-unknown',
    'rolled-back',
    'compensation-failed',
    'saga-closed',
    'saga-unfinished',
    'not-unknown',
    'not-compensable',
  ],
  /** The disk. */
  store: ['intent-not-recorded', 'outcome-not-recorded'],
  /** What the tool is told that reports with a wrong signature; the call goes on. */
  report: ['callback-invalid'],
  /** Handlers of the embedding program. */
  native: ['integrity-failed'],
  /** What nothing in this build decides yet. */
  unbuilt: ['circuit-open', 'sandbox-violation', 'nondeterministic'],
  /** A fault of the runtime itself. */
  bug: ['internal'],
} as const satisfies Readonly<Record<string, readonly FailureId[]>>

/**
 * - `validated`: refused before the transport is asked, as for every tool.
 * - `applied`: a manifest that would lead there is refused.
 * - `renewed`: the token is renewed within the call; what is left is that the tool does not take the new one.
 * - `wordless`: its protocol has no word for it.
 * - `local`: nothing is reached over the network.
 * - `remote`: nothing is run on this machine.
 * - `attached`: the attempt lasts as long as the work.
 */
export type WhyNot = 'validated' | 'applied' | 'renewed' | 'wordless' | 'local' | 'remote' | 'attached'

const REMOTE = {
  'input-too-large': 'validated',
  'capability-denied': 'remote',
} as const satisfies Partial<Record<FailureId, WhyNot>>

const ENVELOPES = {
  ...REMOTE,
  'input-invalid': 'validated',
  'config-invalid': 'applied',
} as const satisfies Partial<Record<FailureId, WhyNot>>

/** Errors of MCP are numbers of JSON-RPC, or `isError`. */
const MCP = {
  'input-too-large': 'validated',
  'config-invalid': 'applied',
  'callback-timeout': 'attached',
  'partial-effect': 'wordless',
  'tool-crashed': 'wordless',
  'resource-limit': 'wordless',
} as const satisfies Partial<Record<FailureId, WhyNot>>

export const NOT_HERE: Readonly<Record<Subject, Readonly<Partial<Record<FailureId, WhyNot>>>>> = {
  http: { ...REMOTE, 'callback-timeout': 'attached' },
  external: { ...ENVELOPES, 'callback-timeout': 'attached' },
  'webhook-callback': ENVELOPES,
  grpc: { ...ENVELOPES, 'callback-timeout': 'attached' },
  'mcp over HTTP': { ...MCP, 'capability-denied': 'remote', 'token-expired': 'renewed' },
  'mcp over standard streams': {
    ...MCP,
    // Which programs may be started is looked at when the server is declared.
    'capability-denied': 'applied',
    'egress-denied': 'local',
    'token-exchange-failed': 'local',
    'token-expired': 'local',
    'upstream-unauthorized': 'wordless',
    'upstream-forbidden': 'wordless',
    'upstream-conflict': 'wordless',
    'upstream-throttled': 'wordless',
  },
  cli: {
    'egress-denied': 'local',
    'connect-failed': 'local',
    'timeout-before-send': 'local',
    'token-exchange-failed': 'local',
    'tool-unhealthy': 'wordless',
    'upstream-conflict': 'wordless',
    'partial-effect': 'wordless',
    'reply-malformed': 'wordless',
    'callback-timeout': 'attached',
  },
}
