// Makes a decoded call ready for the first stage.
import type { Call } from '../contract/call.ts'
import type { Caller } from '../contract/caller.ts'
import type { Entry } from '../contract/entry.ts'
import { scopeOf } from '../ledger/fingerprint.ts'
import { Abort } from '../util/abort.ts'
import type { World } from '../util/world.ts'
import type { FactSink, Received } from './stages.ts'

export function receive(
  call: Call,
  caller: Caller,
  world: World,
  onFact: FactSink,
  resumed?: Entry,
): Received {
  const receivedAt = world.clock.now()
  const startedAt = world.clock.monotonic()
  const left = call.deadlineUnixMs === undefined ? Number.POSITIVE_INFINITY : call.deadlineUnixMs - receivedAt
  return {
    ...(resumed === undefined ? {} : { resumed }),
    ...(resumed?.request?.undoes === undefined
      ? {}
      : // Decided as it was: what somebody had to agree to then still needs that, and has it.
        { undoes: { ...resumed.request.undoes, needsApproval: resumed.approvalId !== undefined } }),
    call,
    caller,
    // S13: the explicit key, else the request id.
    scope: scopeOf(caller.namespace, caller.actor, call.tool, call.operation),
    key: call.key ?? call.requestId,
    receivedAt,
    startedAt,
    listensUntil: startedAt + left,
    abort: new Abort(),
    onFact,
    warnings: [...call.warnings],
    held: {
      flight: undefined,
      slot: undefined,
      intended: undefined,
      entryId: undefined,
      onEntry: undefined,
      attempt: 0,
      started: false,
      over: false,
      onOver: undefined,
    },
    ...(call.dryRun ? { reports: [] } : {}),
  }
}
