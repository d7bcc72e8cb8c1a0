// Writes the Call resource (S8).
import type { JsonObject } from '../../util/json.ts'
import { type Answer, isOutcome } from '../answer.ts'
import { fixOf } from '../projection.ts'
import type { ShownCall } from '../shown-call.ts'
import { encodeAnswer } from './encode-answer.ts'

export function encodeCallResource(record: ShownCall): JsonObject {
  const { answer } = record
  const version = record.version ?? answer?.tool.version
  const digest = answer?.tool.digest
  return {
    id: record.id,
    request_id: record.requestId,
    namespace: record.namespace,
    actor: record.actor,
    dialect: record.dialect,
    tool: {
      name: record.tool,
      operation: record.operation,
      ...(version === undefined ? {} : { version }),
      ...(digest === undefined ? {} : { digest }),
    },
    state: record.state,
    final: isOutcome(record.state),
    effect: record.effect,
    created_at: new Date(record.createdAt).toISOString(),
    ...(record.endedAt === undefined ? {} : { ended_at: new Date(record.endedAt).toISOString() }),
    ...(record.entryId === undefined ? {} : { entry_id: record.entryId }),
    ...entryFields(record),
    ...(hasEnvelope(answer) ? { answer: encodeAnswer(record.dialect, answer) } : {}),
  }
}

function entryFields({ entry }: ShownCall): JsonObject {
  if (entry === undefined) return {}
  const { compensation } = entry
  if (compensation === undefined) return { entry_state: entry.state }
  const { callId, tries, failure } = compensation
  const error = failure && {
    failure: failure.id,
    message: failure.message,
    details: failure.details,
    fix: fixOf(failure, 'done'),
  }
  return {
    entry_state: entry.state,
    compensation: { call_id: callId, tries, ...(error === undefined ? {} : { error }) },
  }
}

/** A call that runs, and one that is asked about, have no envelope until there is something to say. */
function hasEnvelope(answer: Answer | undefined): answer is Answer {
  if (answer === undefined) return false
  return answer.failure !== undefined || answer.state === 'succeeded' || answer.state === 'prepared'
}
