// What an operator has stopped: a kill switch on tools, callers and namespaces, and tokens that were taken back.
import type { JsonObject } from '../util/json.ts'
import type { CallerSnapshot } from './entry.ts'

/** The resource kind that stops are kept as. */
export const STOP_KIND = 'Stop'
/** The namespace of stops that hold in all of them. */
export const EVERYWHERE = '*'

export interface Stop {
  readonly namespace: string
  /** `all`, `namespace`, `tool:pay`, `caller:agent-7`, `token:ID`, `tokens:agent-7`. */
  readonly name: string
  readonly kind: 'freeze' | 'revocation'
  readonly reason: string
  readonly by: string
  readonly at: number
  /** What becomes of calls that are under way. */
  readonly inFlight: 'finish' | 'end'
  /** Only tokens from before this time are meant. */
  readonly before?: number
  /** Over by itself then: every token that is meant has expired. */
  readonly until?: number
  /** What is kept of it cannot be read: it stands, for all that its name may mean. */
  readonly damaged?: true
}

/** Refuses a write while a stop of this name stands, in the namespace of the write or everywhere. */
export interface StopGuard {
  readonly stop: string
  /** When the token was issued: a stop that has `before` is only about tokens from before that time. */
  readonly issuedAt?: number
}

/** Every stop that would be about a call of this caller. `agent` is whom the call is made for: it is stopped by its own name. */
export function guardsOf(
  { actor, token }: CallerSnapshot,
  tool?: string,
  agent?: string,
): readonly StopGuard[] {
  return [
    { stop: 'all' },
    { stop: 'namespace' },
    { stop: `caller:${actor}` },
    ...(agent === undefined || agent === actor || !isName(agent) ? [] : [{ stop: `caller:${agent}` }]),
    ...(tool === undefined ? [] : [{ stop: `tool:${tool}` }]),
    ...(token === undefined
      ? []
      : [{ stop: `token:${token.id}` }, { stop: `tokens:${actor}`, issuedAt: token.issuedAt }]),
  ]
}

/** No stop can have another name than one that a database keeps as it is. */
function isName(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

export function stopsGuard(stop: Stop, guard: StopGuard, now: number): boolean {
  if (stop.name !== guard.stop) return false
  if (stop.until !== undefined && stop.until <= now) return false
  return stop.before === undefined || (guard.issuedAt !== undefined && guard.issuedAt < stop.before)
}

export function stopBody({ namespace: _, name: __, damaged: ___, inFlight, ...body }: Stop): JsonObject {
  return { ...body, in_flight: inFlight }
}

const DAMAGED = 'its record is damaged, so it stands until it is made anew or lifted'

/** By its name: whoever breaks the record of a token that was taken back makes no freeze of it. */
export function stopKindOf(name: string): Stop['kind'] {
  return name.startsWith('token:') || name.startsWith('tokens:') ? 'revocation' : 'freeze'
}

/** A row that cannot be read stops all the same: nobody shall be able to thaw something by breaking it. */
export function readStop(namespace: string, name: string, body: JsonObject): Stop {
  const { kind, reason, by, at, in_flight: inFlight, before, until } = body
  const damaged = typeof reason !== 'string' || typeof at !== 'number' || kind !== stopKindOf(name)
  return {
    namespace,
    name,
    kind: stopKindOf(name),
    reason: damaged ? DAMAGED : reason,
    by: typeof by === 'string' ? by : '',
    at: typeof at === 'number' ? at : 0,
    inFlight: inFlight === 'end' ? 'end' : 'finish',
    ...(typeof before === 'number' && !damaged ? { before } : {}),
    ...(typeof until === 'number' && !damaged ? { until } : {}),
    ...(damaged ? { damaged } : {}),
  }
}
