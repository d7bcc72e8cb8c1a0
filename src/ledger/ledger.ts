// The ledger: what was meant, what was sent, what came of it. Turns facts of a call into atomic writes of the store.
import type { CallRecord } from '../contract/call.ts'
import type { Entry, EntryOutcome, EntryState } from '../contract/entry.ts'
import type { EvidenceRecord, LedgerWrite, Store, WriteResult } from '../store/store.ts'
import type { JsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'

/** Evidence of one fact, before it is stamped. */
export interface Fact {
  readonly type: string
  readonly body: JsonObject
}

export interface Ending {
  readonly path: readonly EntryState[]
  readonly attempts: number
  readonly outcome: EntryOutcome
}

export interface Ledger {
  readonly failed: Error | undefined
  /** Notes should be waited for. */
  readonly behind: boolean
  find(scope: string, key: string): Promise<Entry | undefined>
  findByIdentity(identity: string, since: number): Promise<Entry | undefined>
  /** Durable before the first send. Gives the entry as written, or what stands in the way. */
  intend(
    entry: Entry,
    uniqueSince: number | undefined,
    facts: readonly Fact[],
    /** The call, where it is not the one that made the entry: recovery must know it. */
    call?: CallRecord,
  ): Promise<IntendResult>
  /** Durable: the call waits for somebody, and its key with it. */
  suspend(
    entry: Entry,
    call: CallRecord,
    approvalId: string,
    outcome: EntryOutcome,
    facts: readonly Fact[],
  ): Promise<WriteResult>
  /** Durable: the outcome of an intended entry. */
  settle(intended: Entry, ending: Ending, call: CallRecord, facts: readonly Fact[]): Promise<WriteResult>
  /** Written behind: a read that is over. `entry` is kept where its key must be remembered (S16, S20). */
  settleRead(
    entry: Entry | undefined,
    ending: Ending,
    call: CallRecord,
    facts: readonly Fact[],
    wait: boolean,
  ): Promise<WriteResult>
  /** Written behind: a call that never got an entry of its own. */
  note(call: CallRecord, facts: readonly Fact[]): Promise<WriteResult>
  /** Calls that are over and not on disk yet: what is written behind can be read all the same. */
  readonly pending: ReadonlyMap<string, CallRecord>
  /** Durable: the call can be found by its id from now on. Never replaces what is known of it already. */
  accept(call: CallRecord): Promise<WriteResult>
  /** Everything noted so far is on disk. */
  flush(): Promise<void>
  /** Written behind: a fact about a call under way. */
  noteFact(namespace: string, callId: string, fact: Fact): Promise<WriteResult>
}

export type IntendResult =
  | { readonly kind: 'intended'; readonly entry: Entry }
  | Extract<WriteResult, { kind: 'conflict' }>

export function createLedger(world: World, store: Store): Ledger {
  const stamp = (namespace: string, callId: string, facts: readonly Fact[]): EvidenceRecord[] =>
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
    find: (scope, key) => store.entries.find(scope, key),
    findByIdentity: (identity, since) => store.entries.findByIdentity(identity, since),

    async intend(entry, uniqueSince, facts, call) {
      const isNew = entry.revision === 0
      const unique = uniqueSince === undefined ? {} : { uniqueSince }
      const intended: Entry = {
        ...entry,
        state: 'intended',
        revision: entry.revision + 1,
        epoch: world.epoch,
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
              set: { epoch: world.epoch, callId: entry.callId },
              ...unique,
            },
        ...(call === undefined ? {} : { calls: [call] }),
        evidence: stamp(entry.namespace, entry.callId, facts),
      })
      return result.kind === 'written' ? { kind: 'intended', entry: intended } : result
    },

    suspend(entry, call, approvalId, outcome, facts) {
      const isNew = entry.revision === 0
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
              set: { epoch: world.epoch, callId: call.id, approvalId, outcome },
            },
        calls: [call],
        evidence: stamp(entry.namespace, call.id, facts),
      })
    },

    settle: (intended, ending, call, facts) =>
      store.ledger.settle({
        namespace: intended.namespace,
        ...orNothing('entry', update(intended, ending)),
        calls: [call],
        evidence: stamp(intended.namespace, call.id, facts),
      }),

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

    note: (call, facts) =>
      writeBehind(
        { namespace: call.namespace, calls: [call], evidence: stamp(call.namespace, call.id, facts) },
        call,
      ),
    pending,
    accept: (call) => store.ledger.intend({ namespace: call.namespace, calls: [call] }),
    flush: () => store.flush(),
    noteFact: async (namespace, callId, fact) =>
      store.ledger.note({ namespace, evidence: stamp(namespace, callId, [fact]) }),
  }
}

function orNothing<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]: V })
}
