// A send about an entry that is on record, for whoever has no call to make it from: put together from what it keeps.
import { type Entry, inlineOf, sentPayloadOf } from '../contract/entry.ts'
import { serialize, toolKeyOf } from '../ledger/fingerprint.ts'
import type { ResolvedOperation, ResolvedTool } from '../resource/resolved-tool.ts'
import type { Send } from '../transport/transport.ts'
import type { Abort } from '../util/abort.ts'
import type { World } from '../util/world.ts'

export function sendAbout(
  entry: Entry,
  tool: ResolvedTool,
  operation: ResolvedOperation,
  timeoutMs: number,
  abort: Abort,
  world: World,
): Send {
  const { agent, taskId, constraints, echo, shown } = entry.request ?? {}
  const input = inlineOf(sentPayloadOf(entry))
  const key = toolKeyOf(entry.scope, entry.key)
  return {
    callId: entry.callId,
    requestId: entry.requestId,
    tool,
    operation,
    input,
    text: serialize(input),
    key,
    ...(shown === undefined ? {} : { shown: { key, note: shown } }),
    attempt: entry.attempts,
    namespace: entry.namespace,
    actor: entry.caller.actor,
    ...(agent === undefined ? {} : { agent }),
    ...(taskId === undefined ? {} : { taskId }),
    trace: entry.trace,
    ...(constraints === undefined ? {} : { constraints }),
    ...(echo === undefined ? {} : { echo }),
    timeoutMs,
    deadlineUnixMs: Math.floor(world.clock.now() + timeoutMs),
    abort,
  }
}
