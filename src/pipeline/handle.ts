// A tool has taken the work on and can be asked for it by a handle: kept, so that a crash does not make it unknown (S36).
import type { CatalogTool } from '../catalog/catalog.ts'
import type { Entry, EntryOutcome } from '../contract/entry.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import type { Send } from '../transport/transport.ts'
import type { Abort } from '../util/abort.ts'
import type { JsonObject } from '../util/json.ts'
import { runningRecord } from './answer.ts'
import { type AttemptOutcome, runAttempt } from './attempt.ts'
import type { Kit } from './kit.ts'
import { sendAbout } from './send-about.ts'
import type { Admitted } from './stages.ts'
import { isWithheld } from './verify.ts'

/** One question about accepted work may take this long. */
const ASK_MS = 30_000
const NOT_NOW_MS = 1_000

/**
 * Durable. The entry as it then is; undefined for reads, and where the store does not take it: then a crash loses it.
 * `until` is there where nobody waits for the work any more: wall time at which it must have ended.
 */
export async function keepHandle(
  state: Admitted,
  intended: Entry | undefined,
  attempts: number,
  handle: JsonObject,
  kit: Kit,
  until?: number,
): Promise<Entry | undefined> {
  if (intended === undefined) return undefined
  const outcome: EntryOutcome = {
    sideEffects: [],
    warnings: until === undefined ? [] : state.warnings,
    handle,
    ...(until === undefined
      ? {}
      : { accepted: { until, ...(isWithheld(state.decision) ? { withheld: true } : {}) } }),
  }
  const body = { entry_id: intended.id, tool: intended.tool, attempt: attempts, actor: state.caller.actor }
  try {
    const moved = await kit.ledger.move(intended, {
      path: intended.state === 'sent' ? [] : ['sent'],
      set: { attempts, outcome },
      ...(until === undefined ? {} : { calls: [runningRecord(state, kit)] }),
      facts: [{ type: 'tool.accepted', body }],
    })
    return moved.kind === 'moved' ? moved.entry : undefined
  } catch (error) {
    return onlyUnavailable(error)
  }
}

/** Whether the work of this entry can be taken up again instead of being in question. */
export function canAttach(entry: Entry, target: CatalogTool, kit: Kit): boolean {
  return entry.outcome?.handle !== undefined && kit.transport(target.tool.type)?.attach !== undefined
}

/** Takes up what the tool has accepted. Nothing is sent that could have an effect. */
export async function attach(entry: Entry, target: CatalogTool, kit: Kit): Promise<AttemptOutcome> {
  const transport = kit.transport(target.tool.type)
  const operation = target.tool.operations[entry.operation]
  const handle = entry.outcome?.handle
  if (transport?.attach === undefined || operation === undefined || handle === undefined) {
    throw new Error(`entry ${entry.id} has nothing to take up`)
  }
  const take = transport.attach.bind(transport)
  const send = (abort: Abort) =>
    sendAbout(entry, target.tool, operation, Math.min(operation.timeoutMs, ASK_MS), abort, kit.world)
  const again = {
    ...transport,
    attempt: (one: Send, sink: Parameters<typeof take>[2]) => take(handle, one, sink),
  }
  const hooks = { maySend: () => kit.ledger.maySend }
  const outcome = await runAttempt(again, send, kit.stopping, () => {}, kit.world, hooks)
  const { reply } = outcome
  if (reply?.kind !== 'failure' || reply.failure !== 'intent-not-recorded') return outcome
  // This process may ask nothing at the moment. That is no word of the tool, however sure it sounds.
  return { ...outcome, reply: undefined, accepted: { kind: 'accepted', pollInMs: NOT_NOW_MS } }
}
