// What the contract's tests share: ids that count up, and answers to start from.
import type { Answer } from '../../src/contract/answer.ts'
import type { Mint } from '../../src/contract/dialect/dialect.ts'

/** UUIDs in the shape of version 7 that count from 1. */
export function counterMint(): Mint {
  let count = 0
  return () => `00000000-0000-7000-8000-${(++count).toString(16).padStart(12, '0')}`
}

export function anAnswer(more: Partial<Answer> = {}): Answer {
  return {
    callId: '01890a5d-ac96-774b-bcce-b302099a8057',
    requestId: 'req-1',
    state: 'succeeded',
    final: true,
    effect: 'done',
    output: { n: 1 },
    usage: { durationMs: 12.4, attempt: 1 },
    trace: { traceId: 't', spanId: 's' },
    tool: { name: 'crm.update', operation: 'invoke', version: '1.4.2', digest: 'sha256:ab' },
    replayed: false,
    warnings: [],
    sideEffects: [],
    ...more,
  }
}
