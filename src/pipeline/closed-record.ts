// A call as it is kept, brought up to what its entry came to.
import { type Answer, isOutcome } from '../contract/answer.ts'
import type { CallRecord, DialectName } from '../contract/call.ts'
import type { Entry } from '../contract/entry.ts'
import type { CallResult } from './stages.ts'

/** The same record with what is known by now. An outcome never changes: one that has ended stays as it is. */
export function recordWith(record: CallRecord, now: CallResult, at: number): CallRecord {
  if (isOutcome(record.state) || record.answer === undefined) return record
  const { failure: _, output: __, commitToken: ___, commitBy: ____, ...answer } = record.answer
  const final = isOutcome(now.state)
  return {
    ...record,
    ...(now.tool === undefined ? {} : { version: now.tool.version }),
    state: now.state,
    effect: now.effect,
    ...(final ? { endedAt: at } : {}),
    answer: {
      ...answer,
      state: now.state,
      final,
      effect: now.effect,
      usage: { ...answer.usage, ...now.usage, attempt: now.attempt },
      tool: { ...answer.tool, ...now.tool },
      warnings: [...new Set([...answer.warnings, ...now.warnings])],
      sideEffects: now.sideEffects,
      ...(now.output === undefined ? {} : { output: now.output }),
      ...(now.failure === undefined ? {} : { failure: now.failure }),
      ...(now.commitToken === undefined ? {} : { commitToken: now.commitToken }),
      ...(now.commitBy === undefined ? {} : { commitBy: now.commitBy }),
    },
  }
}

/** The call keeps its own outcome; what it did to the world is undone. */
export function asCompensated(record: CallRecord): CallRecord {
  const effect = 'compensated'
  return {
    ...record,
    effect,
    ...(record.answer === undefined ? {} : { answer: { ...record.answer, effect } }),
  }
}

/** The output is kept once: in the entry. */
export function withoutOutput(record: CallRecord): CallRecord {
  if (record.answer?.output === undefined) return record
  const { output: _, ...answer } = record.answer
  return { ...record, answer }
}

/** The call that claimed an entry, as far as the entry knows it. */
export function recordOfEntry(entry: Entry): CallRecord {
  return {
    namespace: entry.namespace,
    id: entry.callId,
    requestId: entry.requestId,
    dialect: entry.dialect as DialectName,
    actor: entry.caller.actor,
    tool: entry.tool,
    version: entry.version,
    operation: entry.operation,
    entryId: entry.id,
    state: 'running',
    effect: 'pending',
    epoch: entry.epoch,
    createdAt: entry.createdAt,
    answer: runningAnswer(entry),
  }
}

function runningAnswer(entry: Entry): Answer {
  return {
    callId: entry.callId,
    requestId: entry.requestId,
    state: 'running',
    final: false,
    effect: 'pending',
    usage: { durationMs: 0, attempt: 0 },
    trace: entry.trace,
    tool: { name: entry.tool, operation: entry.operation },
    replayed: false,
    warnings: [],
    sideEffects: [],
    ...(entry.saga === undefined ? {} : { saga: entry.saga }),
  }
}
