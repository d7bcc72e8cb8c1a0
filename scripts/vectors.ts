// Writes the golden response vectors: one per dialect and failure row, and those of success. `node scripts/vectors.ts`
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Answer } from '../src/contract/answer.ts'
import { DIALECT_NAMES, type DialectName } from '../src/contract/call.ts'
import { encodeAnswer } from '../src/contract/dialect/encode-answer.ts'
import type { EffectState } from '../src/contract/effect.ts'
import { FAILURE_IDS, type FailureId, failureRow } from '../src/contract/failures.ts'
import { createFailure, exitCodeOf, httpStatusOf, stateOf } from '../src/contract/projection.ts'

export const VECTORS_ROOT = join(import.meta.dirname, '..', 'test', 'vectors')

const CALL_ID = '01890a5d-ac96-774b-bcce-b302099a8057'
const UUID_REQUEST_ID = '7f1c1a52-3c0c-4b8e-9d57-0b6f6f2f9a11'

const base = {
  callId: CALL_ID,
  trace: { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' },
  tool: { name: 'crm.update', operation: 'invoke', version: '1.4.2', digest: `sha256:${'ab'.repeat(32)}` },
  replayed: false,
  warnings: [],
  sideEffects: [],
} as const

/** The states a call passes before anything is resolved or sent. */
const BEFORE_RESOLVE: ReadonlySet<FailureId> = new Set<FailureId>([
  'body-unreadable',
  'envelope-invalid',
  'inline-credential',
  'version-unsupported',
  'tool-unknown',
  'version-unmatched',
  'version-ambiguous',
])

function failed(id: FailureId, unsafe: boolean): Omit<Answer, 'requestId'> {
  const row = failureRow(id)
  const effect: EffectState = effectOf(id, unsafe)
  const failure = createFailure(id, { details: { example: true }, harmless: !unsafe })
  const state = stateOf(failure, effect)
  const { name, operation } = base.tool
  return {
    ...base,
    ...(BEFORE_RESOLVE.has(id) ? { tool: { name, operation } } : {}),
    state,
    final: state !== 'unknown' && state !== 'awaiting-approval',
    effect,
    failure,
    usage: { durationMs: 182, attempt: unsafe || row.retry === 'query' ? 1 : 0 },
  }
}

function effectOf(id: FailureId, unsafe: boolean): EffectState {
  const { retry, state } = failureRow(id)
  if (unsafe || retry === 'query') return 'unknown'
  if (retry === 'wait') return 'pending'
  return state === 'failed' || state === 'timed-out' || state === 'canceled' ? 'not-done' : 'none'
}

function succeeded(more: Partial<Answer>): Omit<Answer, 'requestId'> {
  return {
    ...base,
    state: 'succeeded',
    final: true,
    effect: 'done',
    output: { summary: 'updated', rows: 1 },
    usage: { durationMs: 182, attempt: 1 },
    ...more,
  }
}

/** Name to answer. `unsafe` is a row whose retry depends on the tool, where a repeat could do harm. */
function answers(): ReadonlyMap<string, Omit<Answer, 'requestId'>> {
  const all = new Map<string, Omit<Answer, 'requestId'>>()
  all.set('ok', succeeded({}))
  all.set('ok-no-output', { ...succeeded({ effect: 'none' }), output: null })
  all.set('ok-replayed', succeeded({ replayed: true, saga: 'saga-1' }))
  all.set(
    'ok-extras',
    succeeded({
      warnings: ['upstream returned partial content'],
      sideEffects: [{ kind: 'write', target: 'file:///cache/index', bytes: 4096 }],
      usage: { durationMs: 611.6, attempt: 2, cpuMs: 211, memoryPeakMb: 74 },
    }),
  )
  all.set('prepared', succeeded({ state: 'prepared', final: false, effect: 'prepared', commitToken: 'ct_1' }))
  for (const id of FAILURE_IDS) {
    all.set(`failure-${id}`, failed(id, false))
    if (failureRow(id).retry === 'if-harmless') all.set(`failure-${id}-unsafe`, failed(id, true))
  }
  return all
}

/** Path below the root to text. */
export function generateVectors(): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  for (const dialect of DIALECT_NAMES) {
    for (const [name, partial] of answers()) {
      const answer: Answer = { ...partial, requestId: requestIdOf(dialect) }
      const row = answer.failure === undefined ? undefined : failureRow(answer.failure.id)
      const vector = {
        name: `${dialect}: ${name}`,
        answer,
        response: encodeAnswer(dialect, answer),
        http_status: httpStatusOf(answer),
        grpc_status: row?.grpc ?? 'OK',
        exit_code: exitCodeOf(answer),
      }
      files.set(`${dialect}/response-${name}.json`, `${JSON.stringify(vector, null, 2)}\n`)
    }
  }
  return files
}

function requestIdOf(dialect: DialectName): string {
  return dialect === 'four-outcome' ? UUID_REQUEST_ID : 'req-123'
}

function main(): void {
  const files = generateVectors()
  for (const dialect of DIALECT_NAMES) {
    const folder = join(VECTORS_ROOT, dialect)
    mkdirSync(folder, { recursive: true })
    for (const file of readdirSync(folder)) {
      if (file.startsWith('response-') && !files.has(`${dialect}/${file}`)) rmSync(join(folder, file))
    }
  }
  for (const [path, text] of files) writeFileSync(join(VECTORS_ROOT, path), text)
  console.log(`${files.size} response vectors written`)
}

if (import.meta.main) main()
