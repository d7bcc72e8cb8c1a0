// Stage 6: take the key. Reserved in memory; durable with the first durable fact, the suspension or the intent.
import type { RuleMatch } from '../contract/decision.ts'
import { isReadOnly } from '../contract/effect.ts'
import type { Entry, EntryRequest } from '../contract/entry.ts'
import { fingerprintOf } from '../ledger/fingerprint.ts'
import { isTombstone } from '../store/store.ts'
import { sha256Hex } from '../util/canonical.ts'
import type { Kit } from './kit.ts'
import { isUnknownToOthers, joinFlight, knowEntry } from './recall.ts'
import { refuse, resultOfEntry } from './result.ts'
import { checkSaga } from './saga-member.ts'
import { advance, type Claimed, type Granted, type Recalled, type StageResult } from './stages.ts'
import { standingOf } from './standing.ts'

/** `again`: this call took a flight over, and what it had decided was decided about another entry. */
export type ClaimResult = StageResult<Claimed> | { readonly kind: 'again'; readonly state: Recalled }

export async function claim(state: Granted, kit: Kit): Promise<ClaimResult> {
  const closed = state.call.saga === undefined ? undefined : await checkSaga(state, kit.ledger.sagas)
  if (closed !== undefined) return closed
  const entry = state.continued === undefined ? draft(state, kit) : asDecided(state, state.continued)
  if (entry.identity !== undefined) {
    const repeated = await repeatedEffect(state, entry, kit)
    if (repeated !== undefined) return repeated
  }
  knowEntry(state, entry.id)
  if (state.held.flight !== undefined) {
    state.held.flight.take(entry)
    return advance(state, { entry, flight: state.held.flight })
  }
  // Somebody may have claimed the key since recall looked; there is no await between this look and the reservation.
  const other = isUnknownToOthers(state) ? undefined : kit.flights.find(state.scope, state.key)
  if (other !== undefined) {
    const joined = await joinFlight(state, other, kit)
    return joined.kind === 'ok' ? { kind: 'again', state: joined.state } : joined
  }
  // A dry run reserves nothing (S17), and a key that nobody knows needs no place where others could find it.
  const visible = !state.call.dryRun && !isUnknownToOthers(state)
  const flight = visible ? kit.flights.reserve(entry) : kit.flights.hidden(entry)
  state.held.flight = flight
  return advance(state, { entry, flight })
}

/** What policy made of it for an attempt before is not what it makes of it now. */
function asDecided(state: Granted, { narrowed: _, ...continued }: Entry): Entry {
  return { ...continued, ...narrowedPart(state) }
}

function draft(state: Granted, kit: Kit): Entry {
  const { call, caller, operation, input } = state
  const { tool } = state.target
  const print = fingerprintOf(
    operation.effect,
    { namespace: caller.namespace, tool: tool.name, operation: operation.name },
    input,
    state.payloadText,
  )
  return {
    namespace: caller.namespace,
    scope: state.scope,
    key: state.key,
    // Who takes a flight over goes on with the entry that those who left it were told of.
    id: state.held.flight?.entry.id ?? kit.world.id(),
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
    ...requestPart(state),
    ...(call.saga === undefined ? {} : { saga: call.saga }),
    ...(input === undefined ? {} : { payload: { inline: input } }),
    payloadHash: print.payloadHash,
    ...narrowedPart(state),
    fingerprint: print.fingerprint,
    fingerprintFields: print.fields,
    ...(print.identity === undefined ? {} : { identity: print.identity }),
    attempts: 0,
    cancelRequested: false,
    createdAt: state.receivedAt,
  }
}

/** S43: as asked for and as sent. */
export function narrowedPart({ narrowed }: Granted): Pick<Entry, 'narrowed'> {
  if (narrowed === undefined) return {}
  const hash = sha256Hex(narrowed.payloadText)
  return { narrowed: { payload: { inline: narrowed.input ?? null }, hash } }
}

/** Absent where there is nothing to keep, as for most calls. */
function requestPart({ call, undoes }: Granted): Pick<Entry, 'request'> {
  const { agent, taskId, constraints, echo, deadlineUnixMs } = call
  const request: EntryRequest = {
    ...(agent === undefined ? {} : { agent }),
    ...(taskId === undefined ? {} : { taskId }),
    ...(Object.keys(constraints).length === 0 ? {} : { constraints }),
    ...(echo === undefined ? {} : { echo }),
    ...(deadlineUnixMs === undefined ? {} : { deadlineUnixMs }),
    ...(undoes === undefined ? {} : { undoes: { entryId: undoes.entryId, toolKey: undoes.toolKey } }),
  }
  return Object.keys(request).length === 0 ? {} : { request }
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
  // An entry that had no effect did not hold its identity: another one may have taken it since.
  if (earlier === undefined || earlier.id === entry.id) return undefined
  // The same key: made since recall looked. That is for its flight, or its entry, to answer.
  if (earlier.scope === state.scope && earlier.key === state.key) return undefined
  if (rule.onRepeat === 'approve' && state.continued?.state !== 'unknown') {
    Object.assign(state, askAbout(state, earlier, kit))
    return undefined
  }
  const ownOutcome =
    earlier.caller.actor === state.caller.actor &&
    (earlier.state === 'done' || earlier.state === 'committed') &&
    !isTombstone(earlier)
  if (rule.onRepeat === 'replay' && ownOutcome) return { kind: 'end', result: resultOfEntry(earlier) }
  return repeated(state, earlier)
}

/** S14: somebody has to say that the same effect is meant twice. */
function askAbout(state: Granted, earlier: Entry, kit: Kit): Pick<Granted, 'facts' | 'decision'> {
  const match: RuleMatch = {
    policyId: `Tool/${state.target.tool.name}`,
    policyVersion: state.target.tool.version,
    rule: 'effect.identity.on_repeat',
    decision: 'require-approval',
    code: 'effect-repeated',
    reason: `the same effect as call ${earlier.callId}`,
  }
  const facts = { ...state.facts, also: [...state.facts.also, match] }
  const decision = standingOf(state.caller, kit).rules.decide(facts, { explain: state.reports !== undefined })
  return { facts, decision }
}

/** Names the earlier call; another caller's output is never shown. */
export function repeated(state: Granted, earlier: Entry): StageResult<never> {
  return refuse(state, 'effect-repeated', {
    message: `this effect was already asked for by call ${earlier.callId}`,
    details: { call_id: earlier.callId, effect_state: earlier.state },
  })
}
