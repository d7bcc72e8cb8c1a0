// What must hold in every run, by name; and what the rules that check it share.
import type { DatabaseSync } from 'node:sqlite'
import type { Agenda } from './agenda.ts'
import type { History } from './history.ts'

export const INVARIANTS = {
  deadline: 'every call is answered inside its deadline, and nothing is sent after it (S9)',
  outcome: 'an outcome that was told never changes; an open state is not forgotten (S16)',
  'effect-once': 'at most one effect per key, unless a repeat is declared harmless (S22)',
  identity: 'at most one effect per identity, whatever the keys (S14)',
  truth: 'what is answered is what the tool did (S23, S24)',
  'intent-first':
    'nothing is sent before its intent is durable, nothing answered before its outcome is (S34)',
  recovery: 'what a crash left open becomes unknown, and is sent again only where that is harmless (S36)',
  ownership: 'nobody acts on what another life owns; a life is ended only after its lease (S35)',
  lease: 'nothing is sent with less than a third of the lease left (S35)',
  timer: 'a timer is never early, never lost, and in one hand at a time (S12)',
  quiet: 'a not_done is believed only from a tool that fences, or after the quiet time (S22)',
  'two-phase': 'a prepared effect is committed or rolled back, by one hand, with its move on disk (S26)',
  settles: 'once the tools can be asked, everything that can be is settled, and right (S27, S28)',
  undo: 'an effect is undone once, and only when somebody asked for it (S29)',
  saga: 'nothing is left of a saga that was aborted (S29)',
  approval:
    'nothing that people have to agree to happens unless they agreed to this very thing; each approval is used once (S45)',
  transition: 'entries move only as the table says',
  chain: 'the evidence can be computed again from what is kept (S39)',
  limit: 'concurrency and rate of a tool are never exceeded (admit)',
  'failed-flush': 'nothing is sent once a flush has failed (S37)',
  cancel: 'nothing is sent for a call that was canceled (S11)',
  'one-flight': 'calls with one key share one flight; none is turned away while it could wait (S10)',
  payload: 'what is sent for a key is always the same bytes to the same build (S13)',
  key: 'two callers never share a key, and no tool sees the raw one (S13, S19)',
  backoff: 'a tool that asks for time is given it',
  lag: 'what was answered is on record within the lag (S34)',
  'no-bug': 'no internal fault, no unhandled rejection, no exception',
  ends: 'the run comes to its end',
} as const

export type Invariant = keyof typeof INVARIANTS

export interface Violation {
  readonly invariant: Invariant
  readonly message: string
}

export type Fail = (invariant: Invariant, message: string) => void

/** What every rule looks at. */
export interface Facts {
  readonly agenda: Agenda
  readonly history: History
  readonly ledger: LedgerView
  readonly fail: Fail
  /** The longest that a write waits for a disk that is well: the flush under way, then its own. */
  readonly diskMs: number
  /** Several replicas share the database. */
  readonly shared: boolean
}

/** Times are sums of fractions: this much is no difference. */
export const EPSILON = 1e-6

export interface EntryRow {
  readonly id: string
  readonly scope: string
  readonly key: string
  readonly saga: string | null
  readonly state: string
  readonly epoch: string
  readonly attempts: number
  readonly callId: string
  readonly readOnly: boolean
}

/** The database as it is on disk at this moment, read past the runtime. */
export class LedgerView {
  readonly #all
  readonly #ofCall
  readonly #call
  readonly #timers
  readonly #sagas

  constructor(database: DatabaseSync) {
    const columns = `id, scope, key, saga, state, epoch, attempts, call_id as callId, json_extract(fixed, '$.readOnly') as readOnly`
    const from = 'from entry join entry_body using (number)'
    this.#all = database.prepare(`select ${columns} ${from} order by number`)
    this.#ofCall = database.prepare(`select ${columns} ${from} where call_id = ?`)
    this.#call = database.prepare('select 1 from call where id = ?')
    this.#timers = database.prepare("select kind, subject from timer where kind <> 'retention'")
    this.#sagas = database.prepare('select id, state from saga')
  }

  entries(): EntryRow[] {
    return this.#all.all().map(rowOf)
  }

  entryOfCall(callId: string): EntryRow | undefined {
    const row = this.#ofCall.get(callId)
    return row === undefined ? undefined : rowOf(row)
  }

  /** The entry of a key: the last call that took it up has its name in it. */
  entryOfCalls(calls: readonly { readonly id: string }[]): EntryRow | undefined {
    for (const { id } of calls.toReversed()) {
      const entry = id === '' ? undefined : this.entryOfCall(id)
      if (entry !== undefined) return entry
    }
    return undefined
  }

  /** All but the one that erases what is old. */
  timers(): { readonly kind: string; readonly subject: string }[] {
    return this.#timers.all() as { kind: string; subject: string }[]
  }

  sagas(): { readonly id: string; readonly state: string }[] {
    return this.#sagas.all() as { id: string; state: string }[]
  }

  hasCall(callId: string): boolean {
    return this.#call.get(callId) !== undefined
  }
}

function rowOf(row: Record<string, unknown>): EntryRow {
  return { ...(row as unknown as EntryRow), readOnly: row.readOnly === 1 }
}
