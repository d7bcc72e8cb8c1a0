// The call that an entry was made for, put together again from what the entry keeps (S36).
import type { Call, DialectName } from '../contract/call.ts'
import { type Entry, inlineOf } from '../contract/entry.ts'

export function callOfEntry(entry: Entry): Call {
  const input = inlineOf(entry.payload)
  const { agent, taskId, constraints = {}, echo, deadlineUnixMs } = entry.request ?? {}
  return {
    id: entry.callId,
    requestId: entry.requestId,
    dialect: entry.dialect as DialectName,
    namespace: entry.namespace,
    tool: entry.tool,
    operation: entry.operation,
    ...(input === undefined ? {} : { input }),
    key: entry.key,
    freshId: false,
    ...(deadlineUnixMs === undefined ? {} : { deadlineUnixMs }),
    dryRun: false,
    ...(entry.saga === undefined ? {} : { saga: entry.saga }),
    ...(taskId === undefined ? {} : { taskId }),
    ...(agent === undefined ? {} : { agent }),
    trace: entry.trace,
    constraints,
    claims: {},
    ...(echo === undefined ? {} : { echo }),
    warnings: [],
  }
}
