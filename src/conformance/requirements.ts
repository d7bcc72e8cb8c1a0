// What a backend must do before it is used in production: the eight groups of seed 003, as data. Cases refer to the ids.

export interface RequirementGroup {
  readonly id: string
  readonly title: string
}

export interface Requirement {
  readonly id: string
  /** Id of its group. */
  readonly group: string
  readonly text: string
  /** Where the document states it. */
  readonly source: string
}

export const GROUPS: readonly RequirementGroup[] = Object.freeze([
  { id: 'C1', title: 'Contract compliance' },
  { id: 'C2', title: 'Timeout and cancellation' },
  { id: 'C3', title: 'Retry semantics' },
  { id: 'C4', title: 'Auth and secret handling' },
  { id: 'C5', title: 'Policy and permission hooks' },
  { id: 'C6', title: 'Isolation and resource boundaries' },
  { id: 'C7', title: 'Observability' },
  { id: 'C8', title: 'Determinism and replay safety' },
])

/** [id, line of seed 003, what must hold] */
const ROWS = [
  ['C1.1', 23, 'A request with tool_contract_version v1 is accepted.'],
  ['C1.2', 24, 'An unknown major version is refused, always with the same error, which is not retryable.'],
  ['C1.3', 25, 'The response carries the request_id of the request.'],
  ['C1.4', 26, 'Responses with status ok, error and denied have every field that the contract requires.'],
  ['C1.5', 27, 'Each failure is reported with tool_status, tool_code, tool_reason and retryable.'],
  ['C2.1', 31, 'timeout_ms is enforced: the call ends soon after it, and not before.'],
  [
    'C2.2',
    32,
    'A timeout has code timeout and reason tool_execution_timeout, and is retryable where a repeat is harmless.',
  ],
  ['C2.3', 33, 'A cancel ends the call and reaches the tool.'],
  ['C2.4', 34, 'A canceled call has code canceled and reason tool_execution_canceled.'],
  ['C3.1', 38, 'Whether a failure is retryable follows from the failure, the same way each time.'],
  ['C3.2', 39, 'usage.attempt is the number of the last send.'],
  ['C3.3', 40, 'A denial by policy or permission is not retryable and is not retried.'],
  ['C3.4', 41, 'What a tool itself says about retrying comes through to the caller.'],
  ['C4.1', 45, 'auth.secret_ref is resolved in the namespace of the tool, and nowhere else.'],
  ['C4.2', 46, 'The value of a secret is never logged.'],
  ['C4.3', 47, 'A missing and a refused secret each have their own code and reason, the same each time.'],
  [
    'C4.4',
    48,
    'The auth profiles bearer, api_key_header, basic and oauth2_client_credentials are supported.',
  ],
  ['C5.1', 52, 'Capabilities and risk of a tool are there for the decision, from its declaration alone.'],
  ['C5.2', 53, 'A denied call has status denied and a normalised reason.'],
  [
    'C5.3',
    54,
    'A missing permission has code permission_denied and reason tool_permission_denied, and is not retryable.',
  ],
  [
    'C6.1',
    58,
    'Configured constraints on memory, processor, processes and network hold, where they apply to the backend.',
  ],
  [
    'C6.2',
    59,
    'An attempt to get out of what was declared is blocked, and classified the same way each time.',
  ],
  ['C6.3', 60, 'The isolation that the backend gives is documented, and tested to be as documented.'],
  ['C7.1', 64, 'Each execution has one start record and one end record.'],
  ['C7.2', 65, 'The records carry the trace fields of the call.'],
  ['C7.3', 66, 'The end record has the duration and the terminal status.'],
  ['C7.4', 67, 'The end record of a failed or denied call has its normalised reason.'],
  ['C8.1', 71, 'The same request delivered again under the same idempotency key has no second effect.'],
  ['C8.2', 72, 'The same failure is mapped the same way in every run.'],
  ['C8.3', 73, 'No hidden state changes what a call means.'],
] as const satisfies readonly (readonly [string, number, string])[]

export type RequirementId = (typeof ROWS)[number][0]

export const REQUIREMENTS: readonly (Requirement & { readonly id: RequirementId })[] = Object.freeze(
  ROWS.map(([id, line, text]) => ({
    id,
    group: id.slice(0, id.indexOf('.')),
    text,
    source: `seed 003, line ${line}`,
  })),
)

/** Requirements that no case tests, each with the reason. A reason beside a case is stale, and a test says so. */
export const UNCOVERED: Readonly<Partial<Record<RequirementId, string>>> = Object.freeze({})

/** When seed 003 calls a backend ready. The first is `Report.ready`; tests hold the other two. */
export const EXIT_CRITERIA: readonly (Omit<Requirement, 'group'> & { readonly heldBy: string })[] =
  Object.freeze([
    {
      id: 'E1',
      text: 'Every group passes.',
      source: 'seed 003, line 79',
      heldBy: 'the report: `ready` is true when every requirement passed; a limited one does not count',
    },
    {
      id: 'E2',
      text: 'Known limitations are documented.',
      source: 'seed 003, line 80',
      heldBy: 'this page, which is made from the same data that the report reads',
    },
    {
      id: 'E3',
      text: 'The hooks for policy, auth and observability are verified in integration tests.',
      source: 'seed 003, line 81',
      heldBy: 'the cases of C4, C5 and C7, which run a whole runtime in front of a real tool',
    },
  ])
