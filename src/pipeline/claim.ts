// Stage 6: take the key. Reserved in memory; durable with the first durable fact, the suspension or the intent.
import { isReadOnly } from '../contract/effect.ts'
import type { Entry } from '../contract/entry.ts'
import { fingerprintOf } from '../ledger/fingerprint.ts'
import { isTombstone } from '../store/store.ts'
import type { Kit } from './kit.ts'
import { joinFlight } from './recall.ts'
import { refuse, resultOfEntry } from './result.ts'
import { advance, type Claimed, type Granted, type StageResult } from './stages.ts'

export async function claim(state: Granted, kit: Kit): Promise<StageResult<Claimed>> {
  const entry = state.continued ?? draft(state, kit)
  if (entry.identity !== undefined && state.continued === undefined) {
    const repeated = await repeatedEffect(state, entry, kit)
    if (repeated !== undefined) return repeated
  }
  if (state.held.flight !== undefined) {
    state.held.flight.take(entry)
    return advance(state, { entry, flight: state.held.flight })
  }
  // Somebody may have claimed the key since recall looked; there is no await between this look and the reservation.
  const other = kit.flights.find(state.scope, state.key)
  if (other !== undefined) {
    const joined = await joinFlight(state, other, kit)
    if (joined.kind !== 'ok') return joined
    other.take(entry)
    return advance(state, { entry, flight: other })
  }
  const flight = kit.flights.reserve(entry)
  if (state.call.dryRun) flight.forget()
  else state.held.flight = flight
  return advance(state, { entry, flight })
}

function draft(state: Granted, kit: Kit): Entry {
  const { call, caller, operation, input } = state
  const { tool } = state.target
  const print = fingerprintOf(
    operation.effect,
    { namespace: caller.namespace, tool: tool.name, operation: operation.name },
    input,
  )
  return {
    namespace: caller.namespace,
    scope: state.scope,
    key: state.key,
    id: kit.world.id(),
    state: 'reserved',
    revision: 0,
    epoch: kit.world.epoch,
    callId: call.id,
    requestId: call.requestId,
    dialect: call.dialect,
    trace: call.trace,
    tool: tool.name,
    version: tool.version,
    digest: tool.digest,
    operation: operation.name,
    readOnly: isReadOnly(operation.effect),
    caller,
    ...(input === undefined ? {} : { payload: { inline: input } }),
    payloadHash: print.payloadHash,
    fingerprint: print.fingerprint,
    fingerprintFields: print.fields,
    ...(print.identity === undefined ? {} : { identity: print.identity }),
    attempts: 0,
    cancelRequested: false,
    createdAt: state.receivedAt,
  }
}

/** S14: a model's second try has a new request id and reworded text; the fields of the identity give it away. */
async function repeatedEffect(
  state: Granted,
  entry: Entry,
  kit: Kit,
): Promise<StageResult<never> | undefined> {
  const rule = state.operation.effect.identity
  if (rule === undefined || entry.identity === undefined) return undefined
  const earlier = await kit.ledger.findByIdentity(entry.identity, state.receivedAt - rule.windowMs)
  if (earlier === undefined) return undefined
  if (rule.onRepeat === 'approve') {
    Object.assign(state, {
      approvalReasons: [...state.approvalReasons, `the same effect as call ${earlier.callId}`],
    })
    return undefined
  }
  const ownOutcome =
    earlier.caller.actor === state.caller.actor && earlier.state === 'done' && !isTombstone(earlier)
  if (rule.onRepeat === 'replay' && ownOutcome) return { kind: 'end', result: resultOfEntry(earlier) }
  return repeated(state, earlier)
}

/** Names the earlier call; another caller's output is never shown. */
export function repeated(state: Granted, earlier: Entry): StageResult<never> {
  return refuse(state, 'effect-repeated', {
    message: `this effect was already asked for by call ${earlier.callId}`,
    details: { call_id: earlier.callId, effect_state: earlier.state },
  })
}
