// The failure table: total, unique, and projected as S30 to S32 say.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { FAILURES_DOC, generateFailuresDoc } from '../../scripts/failures-doc.ts'
import { FAILURE_IDS, type FailureId, failureRow, type GrpcStatus } from '../../src/contract/failures.ts'

const rows = FAILURE_IDS.map((id) => ({ id, ...failureRow(id) }))

function repeated(values: readonly string[]): readonly string[] {
  return values.filter((value, index) => values.indexOf(value) !== index)
}

/** Seed 000: the canonical codes, and those of its auth and approval tables. */
const V1_CODES = [
  ...[
    'invalid_input',
    'unsupported_tool',
    'runtime_policy_invalid',
    'isolation_unavailable',
    'permission_denied',
  ],
  ...['secret_resolution_failed', 'timeout', 'canceled', 'execution_failed'],
  ...[
    'auth_invalid',
    'auth_forbidden',
    'auth_expired',
    'approval_pending',
    'approval_denied',
    'approval_timeout',
  ],
  'rate_limited',
]

const S30: readonly FailureId[] = [
  'outcome-unknown',
  'interrupted',
  'effect-repeated',
  'key-expired',
  'frozen',
  'output-withheld',
  'control-unavailable',
  'approval-self',
  'callback-invalid',
]

/** Rows for what can be done about an effect after its call (S26, S28, S29). */
const AFTER_THE_CALL: readonly FailureId[] = [
  'commit-repeated',
  'commit-expired',
  'rolled-back',
  'commit-unknown',
  'saga-closed',
  'saga-unfinished',
  'not-unknown',
  'not-compensable',
  'approval-closed',
]

const S31: Record<number, GrpcStatus> = {
  400: 'INVALID_ARGUMENT',
  422: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  410: 'FAILED_PRECONDITION',
  413: 'RESOURCE_EXHAUSTED',
  429: 'RESOURCE_EXHAUSTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

describe('the failure table', () => {
  it('has unique four-outcome codes', () => {
    assert.deepEqual(repeated(rows.map((row) => row.four.code)), [])
  })

  it('has aliases that are unique, among themselves and against the codes', () => {
    const spellings = rows.flatMap(({ four }) => [
      four.code,
      ...(four.alias === undefined ? [] : [four.alias]),
    ])
    assert.deepEqual(repeated(spellings), [])
  })

  it('has every row of C1 from 1 to 64 once, except 63', () => {
    const numbers = rows.flatMap((row) => (row.c1 === null ? [] : [row.c1])).sort((a, b) => a - b)
    const wanted = Array.from({ length: 64 }, (_, index) => index + 1).filter((number) => number !== 63)
    assert.deepEqual(numbers, wanted)
  })

  it('S30: has the nine added rows, those for after the call, and no other without a number', () => {
    assert.deepEqual(
      rows
        .filter((row) => row.c1 === null)
        .map((row) => row.id)
        .sort(),
      [...S30, ...AFTER_THE_CALL].sort(),
    )
  })

  it('uses only the v1 codes of seed 000 and rate_limited', () => {
    for (const row of rows) {
      assert.ok(V1_CODES.includes(row.v1.code), `${row.id}: ${row.v1.code}`)
      if (row.v1.code === 'rate_limited') assert.equal(row.v1.strict, 'execution_failed', row.id)
    }
  })

  it('never blames the caller for the credentials of a tool: no 401 or 403 for upstream auth', () => {
    for (const id of [
      'token-exchange-failed',
      'token-expired',
      'upstream-unauthorized',
      'upstream-forbidden',
    ] as const) {
      assert.equal(failureRow(id).http, 502, id)
    }
  })

  it('S31: gives gRPC the status of its HTTP status', () => {
    for (const row of rows) assert.equal(row.grpc, S31[row.http] ?? 'INTERNAL', row.id)
  })

  it('S32: gives JSON-RPC -32700, -32601, -32602 or a tool result', () => {
    for (const row of rows) {
      const wanted =
        row.c1 === 1
          ? -32700
          : row.c1 === 10 || row.c1 === 11
            ? -32601
            : row.state === 'invalid'
              ? -32602
              : null
      assert.equal(row.jsonRpc, wanted, row.id)
    }
  })

  it('S32: gives commands an exit code that says how the call ended', () => {
    for (const row of rows) {
      const retryable = row.retry === 'yes' || row.retry === 'once'
      const wanted =
        row.retry === 'query'
          ? 8
          : ({ invalid: 3, denied: 4, 'awaiting-approval': 5, canceled: 9 }[row.state as string] ??
            (retryable ? 6 : 7))
      assert.equal(row.exit, wanted, row.id)
    }
  })

  it('says what to do in every row', () => {
    for (const row of rows) {
      assert.match(row.summary, /\.$/, row.id)
      assert.match(row.fix, /\.$/, row.id)
      if (row.fixUnknown !== undefined) assert.match(row.fixUnknown, /find out .*from the tool.*\.$/, row.id)
    }
  })

  it('is what docs/reference/failures.md says; after a change run `node scripts/failures-doc.ts`', () => {
    assert.equal(readFileSync(FAILURES_DOC, 'utf8'), generateFailuresDoc())
  })
})
