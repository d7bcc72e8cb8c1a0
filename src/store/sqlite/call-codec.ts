// A call as it is kept: what the tool returned apart from the rest, so that it can be erased on its own (S18).
import { type Answer, type CallState, isOutcome } from '../../contract/answer.ts'
import type { CallRecord } from '../../contract/call.ts'
import { checked, type Row } from './row.ts'

export const CALL_COLUMNS =
  'namespace, id, request_id, dialect, actor, tool, version, operation, entry_id, state, effect, epoch, created_at, ended_at, answer, result'

/** Columns of `call` in the order in which the engine writes them. */
export function encodeCall(record: CallRecord): Row {
  let answer: string | null = null
  let result: string | null = null
  if (record.answer !== undefined) {
    const { output, sideEffects, commitToken, ...rest } = record.answer
    answer = JSON.stringify(rest)
    if (output !== undefined || sideEffects.length > 0 || commitToken !== undefined) {
      result = JSON.stringify({ output, sideEffects, commitToken })
    }
  }
  const row = [
    record.namespace,
    record.id,
    record.requestId,
    record.dialect,
    record.actor,
    record.tool,
    record.version ?? null,
    record.operation,
    record.entryId ?? null,
    record.state,
    isOutcome(record.state) ? 0 : 1,
    record.effect,
    record.epoch,
    record.createdAt,
    record.endedAt ?? null,
    answer,
    result,
  ]
  return checked(row, 'call')
}

/** `row` has CALL_COLUMNS. */
export function decodeCall(row: Row): CallRecord {
  return {
    namespace: row[0] as string,
    id: row[1] as string,
    requestId: row[2] as string,
    dialect: row[3] as CallRecord['dialect'],
    actor: row[4] as string,
    tool: row[5] as string,
    ...(row[6] === null ? {} : { version: row[6] as string }),
    operation: row[7] as string,
    ...(row[8] === null ? {} : { entryId: row[8] as string }),
    state: row[9] as CallState,
    effect: row[10] as CallRecord['effect'],
    epoch: row[11] as string,
    createdAt: row[12] as number,
    ...(row[13] === null ? {} : { endedAt: row[13] as number }),
    ...(row[14] === null ? {} : { answer: decodeAnswer(row[14] as string, row[15] as string | null) }),
  }
}

function decodeAnswer(answer: string, result: string | null): Answer {
  return { sideEffects: [], ...JSON.parse(answer), ...(result === null ? {} : JSON.parse(result)) }
}
