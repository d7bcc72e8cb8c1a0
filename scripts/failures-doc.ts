// Writes docs/reference/failures.md from the failure table. `node scripts/failures-doc.ts`
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { FAILURE_IDS, type FailureId, failureRow, type RetryRule } from '../src/contract/failures.ts'
import { createFailure, fixOf } from '../src/contract/projection.ts'

export const FAILURES_DOC = join(import.meta.dirname, '..', 'docs', 'reference', 'failures.md')

const RETRY: Record<RetryRule, string> = {
  no: 'no',
  yes: 'yes',
  once: 'once',
  'if-harmless': 'if harmless',
  query: 'ask first',
  wait: 'wait',
}

export function generateFailuresDoc(): string {
  return `${[
    '# Failures',
    '',
    'Everything that is not success is exactly one row of this table. The id is in `error.details.failure` of every',
    'answer, in every dialect, together with `details.fix` (what to do) and `details.effect` (what is known of the effect).',
    '',
    'This page is written from `src/contract/failures.ts` by `node scripts/failures-doc.ts`. Ids and codes are never reused.',
    '',
    '## Retry',
    '',
    '`retryable` on the wire is the safe answer for that very call. The table says what it depends on:',
    '',
    '| word | meaning |',
    '|---|---|',
    '| yes | the same call may be tried again |',
    '| once | again, after the runtime has mended the cause |',
    '| if harmless | only while nothing was sent, or where a repeat is harmless; else `retryable` is false and `details.transient` is true |',
    '| ask first | where the effect is unknown, find out from the tool whether it happened; the key stays held meanwhile |',
    '| wait | the call goes on by itself; waiting costs no retry |',
    '| no | the same call fails again |',
    '',
    '## Codes',
    '',
    '| id | v1 status, code, reason | four-outcome | dotted | HTTP | gRPC | JSON-RPC | exit | retry |',
    '|---|---|---|---|---|---|---|---|---|',
    ...FAILURE_IDS.map(codes),
    '',
    'Where JSON-RPC shows a dash, the failure is a tool result with `isError`. The exit code is that of a call whose',
    '`retryable` is as the row alone says; a call that failed and may be tried again exits with 6.',
    '',
    '## What to do',
    '',
    '`details.fix` says what to do in that very case. A stage that knows better than the row says so in its place.',
    '',
    '| id | what happened | fix |',
    '|---|---|---|',
    ...FAILURE_IDS.map((id) => `| \`${id}\` | ${failureRow(id).summary} | ${failureRow(id).fix} |`),
    '',
    '## Where it may have happened',
    '',
    'Where `details.effect` is `unknown`, the fix depends on `retryable`. Where that is true and the case has no better hint:',
    '',
    `> ${fixOf(createFailure('upstream-error', { harmless: true }), 'unknown')}`,
    '',
    'Where it is false, nothing advises to send again:',
    '',
    `> ${fixOf(createFailure('upstream-error', { harmless: false }), 'unknown')}`,
    '',
    'These rows say more:',
    '',
    '| id | fix |',
    '|---|---|',
    ...FAILURE_IDS.flatMap((id) => {
      const { fixUnknown } = failureRow(id)
      return fixUnknown === undefined ? [] : [`| \`${id}\` | ${fixUnknown} |`]
    }),
  ].join('\n')}\n`
}

function codes(id: FailureId): string {
  const { v1, four, dotted, http, grpc, jsonRpc, exit, retry } = failureRow(id)
  const alias = four.alias === undefined ? '' : ` (also read: \`${four.alias}\`)`
  return `| \`${id}\` | ${v1.status} \`${v1.code}\` \`${v1.reason}\` | ${four.status} \`${four.code}\`${alias} | \`${dotted}\` | ${http} | ${grpc} | ${jsonRpc ?? '-'} | ${exit} | ${RETRY[retry]} |`
}

function main(): void {
  mkdirSync(dirname(FAILURES_DOC), { recursive: true })
  writeFileSync(FAILURES_DOC, generateFailuresDoc())
}

if (import.meta.main) main()
