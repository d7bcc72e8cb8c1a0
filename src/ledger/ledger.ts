// The ledger: what was meant, what was sent, what came of it. Turns facts of a call into atomic writes of the store.
import type { Approval } from '../contract/approval.ts'
import type { CallRecord } from '../contract/call.ts'
import type { Spend } from '../contract/decision.ts'
import type { Entry, EntryOutcome, EntryState } from '../contract/entry.ts'
import type { EvidenceType } from '../contract/evidence.ts'
import { startsAttempt } from '../store/entry-rule.ts'
import type {
  ApprovalStore,
  ApprovalWrite,
  EntryUpdate,
  LedgerWrite,
  NewEvidence,
  ResourceRow,
  SagaStore,
  SagaWrite,
  StopGuard,
  Store,
  TimerChange,
  WriteResult,
} from '../store/store.ts'
import type { JsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'
import { type Watch, watchEntry } from './watch.ts'

/** The resource kind that standing approvals are kept as. */
export const GRANT_KIND = 'ApprovalGrant'

/** Evidence of one fact, before it is stamped. */
export interface Fact {
  readonly type: EvidenceType
  readonly body: JsonObject
}

export interface Ending {
  readonly path: readonly EntryState[]
  readonly attempts: number
  readonly outcome: EntryOutcome
  readonly timers?: readonly TimerChange[]
}

/** A durable step of an entry: a move, with everything that is written with it or not at all. */
export interface Move {
  /** Empty keeps the state. */
  readonly path: readonly EntryState[]
  readonly set?: EntryUpdate['set']
  readonly calls?: readonly CallRecord[]
  readonly facts?: readonly Fact[]
  readonly timers?: readonly TimerChange[]
  readonly saga?: SagaWrite
  readonly approval?: ApprovalWrite
  /** It is refused while one of these stands. */
  readonly unless?: readonly StopGuard[]
}

/** A call that waits for people, with everything that is written with it. */
export interface Suspension {
  readonly call: CallRecord
  /** The question, as it is asked first. */
  readonly approval: Approval
  readonly outcome: EntryOutcome
  readonly facts: readonly Fact[]
  /** How long it waits. */
  readonly ttlMs: number
  /** Who has to hear of it. */
  readonly timers: readonly TimerChange[]
}

export type MoveResult =
  /** `entry` as it now is in the store. */
  { readonly kind: 'moved'; readonly entry: Entry } | Extract<WriteResult, { kind: 'conflict' }>

export interface Ledger {
  /** Set while nothing can be kept. */
  readonly failed: Error | undefined
  /** Whether this process may send: it owns its store, and enough of its lease is left (S35, S37). */
  readonly maySend: boolean
  /** Notes should be waited for. */
  readonly behind: boolean
  find(scope: string, key: string): Promise<Entry | undefined>
  get(namespace: string, id: string): Promise<Entry | undefined>
  /** A call as it is kept, or is about to be. */
  call(namespace: string, id: string): Promise<CallRecord | undefined>
  readonly sagas: Pick<SagaStore, 'get'>
  /** Waits for an entry that another process works on. */
  watch(entry: Entry): Watch
  findByIdentity(identity: string, since: number): Promise<Entry | undefined>
  /** Durable before the first send. Gives the entry as written, or what stands in the way. */
  intend(
    entry: Entry,
    uniqueSince: number | undefined,
    facts: readonly Fact[],
    parts?: IntentParts,
  ): Promise<IntendResult>
  /** What budgets have taken so far, by their ids. */
  spent(namespace: string, spends: readonly Spend[]): Promise<ReadonlyMap<string, number>>
  readonly approvals: Pick<ApprovalStore, 'get'>
  /** Standing approvals as they are at this moment: one that was taken back a moment ago is not among them. */
  grants(namespace: string): Promise<readonly ResourceRow[]>
  /** Durable: the call waits for somebody, and its key with it. */
  suspend(entry: Entry, suspension: Suspension): Promise<WriteResult>
  /** Durable: the outcome of an intended entry. */
  settle(intended: Entry, ending: Ending, call: CallRecord, facts: readonly Fact[]): Promise<WriteResult>
  /** Durable: an entry of any state moves on; refused when it changed since it was read. */
  move(entry: Entry, move: Move): Promise<MoveResult>
  /** Written behind: a read that is over. `entry` is kept where its key must be remembered (S16, S20). */
  settleRead(
    entry: Entry | undefined,
    ending: Ending,
    call: CallRecord,
    facts: readonly Fact[],
    wait: boolean,
  ): Promise<WriteResult>
  /** Written behind: a call that never got an entry of its own. */
  note(call: CallRecord, facts: readonly Fact[], timers?: readonly TimerChange[]): Promise<WriteResult>
  /** Calls that are over and not on disk yet: what is written behind can be read all the same. */
  readonly pending: ReadonlyMap<string, CallRecord>
  /** Durable: the call can be found by its id from now on. Never replaces what is known of it already. */
  accept(call: CallRecord): Promise<WriteResult>
  /** Durable, and waits for a store that is away: a call is over of which there is no entry. */
  close(call: CallRecord, facts: readonly Fact[]): Promise<WriteResult>
  /** Everything noted so far is on disk. */
  flush(): Promise<void>
  /** Durable: a fact that must be on record before something else happens. */
  record(namespace: string, callId: string, fact: Fact): Promise<void>
  /** Written behind: a fact about a call under way. */
  noteFact(namespace: string, callId: string, fact: Fact): Promise<WriteResult>
}

/** What is written with an intent, or the intent is not. */
export interface IntentParts extends Pick<LedgerWrite, 'approval' | 'spends' | 'timers' | 'unless'> {
  /** The call, where it is not the one that made the entry: recovery must know it. */
  readonly call?: CallRecord
  /** What policy makes of the payload of an entry that is there already. */
  readonly narrowed?: Entry['narrowed']
}

export type IntendResult =
  | { readonly kind: 'intended'; readonly entry: Entry }
  | Extract<WriteResult, { kind: 'conflict' }>

export function createLedger(world: World, store: Store): Ledger {
  const stamp = (namespace: string, callId: string, facts: readonly Fact[]): NewEvidence[] =>
    facts.map(({ type, body }) => ({ namespace, callId, type, at: world.clock.now(), body }))

  const pending = new Map<string, CallRecord>()
  /** Written behind, and found in `pending` until it is there. */
  function writeBehind(write: LedgerWrite, call: CallRecord): Promise<WriteResult> {
    const written = store.ledger.note(write)
    pending.set(call.id, call)
    const forget = () => {
      if (pending.get(call.id) === call) pending.delete(call.id)
    }
    written.then(forget, forget)
    return written
  }

  const update = (entry: Entry, ending: Ending): LedgerWrite['entry'] => ({
    kind: 'update',
    scope: entry.scope,
    key: entry.key,
    revision: entry.revision,
    path: ending.path,
    set: { attempts: ending.attempts, outcome: ending.outcome, settledAt: world.clock.now() },
  })

  return {
    get failed() {
      return store.failed
    },
    get behind() {
      return store.behind
    },
    get maySend() {
      return store.failed === undefined && world.clock.monotonic() < store.lives.sendUntil
    },
    find: (scope, key) => store.entries.find(scope, key),
    get: (namespace, id) => store.entries.get(namespace, id),
    call: async (namespace, id) => pending.get(id) ?? store.calls.get(namespace, id),
    sagas: store.sagas,
    watch: (entry) => watchEntry(entry, world, store.peers),
    findByIdentity: (identity, since) => store.entries.findByIdentity(identity, since),

    async spent(namespace, spends) {
      const amounts = await store.budgets.spent(namespace, spends)
      return new Map(spends.map(({ budget }, index) => [budget, amounts[index] ?? 0]))
    },

    async intend(entry, uniqueSince, facts, { call, narrowed, ...parts } = {}) {
      const isNew = entry.revision === 0
      const unique = uniqueSince === undefined ? {} : { uniqueSince }
      const begins =
        entry.identity === undefined ? {} : { identityAt: isNew ? entry.createdAt : world.clock.now() }
      const intended: Entry = {
        ...entry,
        state: 'intended',
        revision: entry.revision + 1,
        epoch: world.epoch,
        ...begins,
      }
      const result = await store.ledger.intend({
        namespace: entry.namespace,
        entry: isNew
          ? { kind: 'insert', entry: intended, ...unique }
          : {
              kind: 'update',
              scope: entry.scope,
              key: entry.key,
              revision: entry.revision,
              path: ['intended'],
              // A cancel was for the attempt before.
              set: {
                epoch: world.epoch,
                callId: entry.callId,
                cancelRequested: false,
                ...begins,
                ...orNothing('narrowed', narrowed),
              },
              ...unique,
            },
        // Who sends something unknown again finds out about a member that there is: nobody joins by it (S22, S29).
        ...orNothing('openSaga', entry.state === 'unknown' ? undefined : entry.saga),
        ...(call === undefined ? {} : { calls: [call] }),
        ...parts,
        evidence: stamp(entry.namespace, entry.callId, facts),
      })
      return result.kind === 'written' ? { kind: 'intended', entry: intended } : result
    },

    approvals: store.approvals,
    grants: (namespace) => store.resources.list({ namespace, kind: GRANT_KIND }),

    suspend(entry, { call, approval, outcome, facts, ttlMs, timers }) {
      const isNew = entry.revision === 0
      const approvalId = approval.id
      return store.ledger.intend({
        namespace: entry.namespace,
        entry: isNew
          ? {
              kind: 'insert',
              entry: { ...entry, state: 'awaiting-approval', revision: 1, approvalId, outcome },
            }
          : {
              kind: 'update',
              scope: entry.scope,
              key: entry.key,
              revision: entry.revision,
              path: ['awaiting-approval'],
              set: {
                epoch: world.epoch,
                callId: call.id,
                approvalId,
                outcome,
                ...orNothing('narrowed', entry.narrowed),
              },
            },
        calls: [call],
        approval: { kind: 'insert', approval },
        evidence: stamp(entry.namespace, call.id, facts),
        timers: [{ kind: 'approval', subject: entry.id, inMs: ttlMs }, ...timers],
        ...orNothing('openSaga', entry.saga),
      })
    },

    settle: (intended, ending, call, facts) =>
      store.ledger.settle({
        namespace: intended.namespace,
        ...orNothing('entry', update(intended, ending)),
        calls: [call],
        evidence: stamp(intended.namespace, call.id, facts),
        ...(ending.timers === undefined || ending.timers.length === 0 ? {} : { timers: ending.timers }),
      }),

    async move(entry, { path, set = {}, calls, facts = [], timers, saga, approval, unless }) {
      const result = await store.ledger.settle({
        namespace: entry.namespace,
        entry: { kind: 'update', scope: entry.scope, key: entry.key, revision: entry.revision, path, set },
        ...orNothing('calls', calls),
        ...orNothing('timers', timers),
        ...orNothing('unless', unless),
        ...orNothing('saga', saga),
        ...orNothing('approval', approval),
        evidence: stamp(entry.namespace, set.callId ?? entry.callId, facts),
      })
      if (result.kind === 'conflict') return result
      const { outcome: _, settledAt: __, narrowed: ___, ...begun } = entry
      const kept = startsAttempt(path) ? begun : entry
      const state = path.at(-1) ?? entry.state
      const { narrowed, ...changed } = set
      const moved: Entry = { ...kept, ...changed, state, revision: entry.revision + 1 }
      return { kind: 'moved', entry: withNarrowed(moved, narrowed) }
    },

    settleRead(entry, ending, call, facts, wait) {
      const last = ending.path.at(-1) ?? 'done'
      const kept: LedgerWrite['entry'] =
        entry === undefined
          ? undefined
          : entry.revision > 0
            ? update(entry, { ...ending, path: ['intended', ...ending.path] })
            : {
                kind: 'insert',
                entry: {
                  ...entry,
                  state: last,
                  revision: 1,
                  attempts: ending.attempts,
                  outcome: ending.outcome,
                  settledAt: world.clock.now(),
                },
              }
      const write: LedgerWrite = {
        namespace: call.namespace,
        ...orNothing('entry', kept),
        calls: [call],
        evidence: stamp(call.namespace, call.id, facts),
      }
      if (wait) return store.ledger.intend(write)
      const { output } = ending.outcome
      const whole =
        call.answer && output && 'inline' in output
          ? { ...call, answer: { ...call.answer, output: output.inline } }
          : call
      return writeBehind(write, whole)
    },

    note: (call, facts, timers = []) =>
      writeBehind(
        {
          namespace: call.namespace,
          calls: [call],
          evidence: stamp(call.namespace, call.id, facts),
          ...(timers.length === 0 ? {} : { timers }),
        },
        call,
      ),
    pending,
    accept: (call) => store.ledger.intend({ namespace: call.namespace, calls: [call] }),
    close: (call, facts) =>
      store.ledger.settle({
        namespace: call.namespace,
        calls: [call],
        evidence: stamp(call.namespace, call.id, facts),
      }),
    flush: () => store.flush(),
    async record(namespace, callId, fact) {
      await store.ledger.intend({ namespace, evidence: stamp(namespace, callId, [fact]) })
    },
    noteFact: async (namespace, callId, fact) =>
      store.ledger.note({ namespace, evidence: stamp(namespace, callId, [fact]) }),
  }
}

function withNarrowed(entry: Entry, narrowed: EntryUpdate['set']['narrowed']): Entry {
  if (narrowed === undefined) return entry
  const { narrowed: _, ...rest } = entry
  return narrowed === null ? rest : { ...rest, narrowed }
}

function orNothing<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: V })
}
