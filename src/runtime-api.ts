// What an embedding program and the doors see of a runtime.
import type { ResourceDoor } from './catalog/resource-door.ts'
import type { Answer } from './contract/answer.ts'
import type { Call } from './contract/call.ts'
import type { CallOptions } from './contract/call-options.ts'
import type { Caller } from './contract/caller.ts'
import type { RefusedCall } from './contract/dialect/dialect.ts'
import type { DialectRegistry } from './contract/dialect/registry.ts'
import type { EntryState } from './contract/entry.ts'
import type { Failure } from './contract/failure.ts'
import type { Saga, SagaState } from './contract/saga.ts'
import type { ShownCall } from './contract/shown-call.ts'
import type { NativeToolDefinition } from './define-tool.ts'
import type { Events } from './event/event.ts'
import type { CallFact, StageReport } from './pipeline/stages.ts'
import type { ResolvedTool } from './resource/resolved-tool.ts'
import type { CallFilter, CheckpointRow, TimerKind } from './store/store.ts'
import type { Json } from './util/json.ts'

export type { ApplyOutcome, ResourceDoor } from './catalog/resource-door.ts'
export type { CallFact, StageReport } from './pipeline/stages.ts'

export interface CallHandle {
  readonly id: string
  /** The answer; after `waitMs`, what is known by then (an open state). */
  answer(options?: { readonly waitMs?: number }): Promise<Answer>
  /** Resolves once the call can be found by its id, also after a crash. */
  accepted(): Promise<void>
  cancel(): void
  /** The caller no longer listens: ends only an unshared read-only call (S11). */
  hangUp(): void
  onFact(listener: (fact: CallFact) => void): () => void
}

export interface Explanation {
  readonly decision: 'allow' | 'deny' | 'require-approval' | 'error'
  readonly stages: readonly StageReport[]
  /** What the caller would be told, where the call would not run. */
  readonly failure?: Failure
}

export type CancelResult = 'canceling' | 'ended' | 'not-found'

/** What came of something that was asked about a call. `record` is the call as it is now. */
export type ActionResult =
  | { readonly kind: 'ok'; readonly record: ShownCall }
  | { readonly kind: 'refused'; readonly failure: Failure; readonly record?: ShownCall }
  | { readonly kind: 'not-found' }

export type SagaResult =
  | { readonly kind: 'ok'; readonly saga: SagaView }
  | { readonly kind: 'refused'; readonly failure: Failure }
  | { readonly kind: 'not-found' }

/** A saga with what its members came to, in the order in which they were made. */
export interface SagaView extends Saga {
  readonly members: readonly SagaMember[]
}

export interface SagaMember {
  readonly entryId: string
  readonly callId: string
  readonly tool: string
  readonly operation: string
  readonly state: EntryState
  /** The call that undoes it. */
  readonly compensationCallId?: string
}

/** An entry about which something is left to do or to find out, with what is known. */
export interface OpenEntry {
  readonly entryId: string
  readonly callId: string
  readonly requestId: string
  readonly actor: string
  readonly tool: string
  readonly version: string
  readonly operation: string
  readonly state: EntryState
  readonly attempts: number
  readonly createdAt: number
  /** Since when it is in question. */
  readonly since?: number
  readonly failure?: Failure
  /** What happens by itself, and when; absent: a person has to settle it. */
  readonly next?: { readonly kind: TimerKind; readonly at: number }
}

/** Whether a tool does what its declaration says about repeats. */
export type ToolVerdict =
  | {
      readonly kind: 'verified' | 'refuted'
      readonly tool: string
      readonly version: string
      readonly digest: string
      readonly declared: string
      readonly detail: string
      readonly callId: string
    }
  | { readonly kind: 'refused'; readonly failure: Failure }

/** Everything one caller can do. */
export interface CallerDoor {
  readonly caller: Caller
  start(request: CallOptions | Call): CallHandle
  /** Sugar for `start(request).answer(options)`. */
  call(request: CallOptions | Call, options?: { readonly waitMs?: number }): Promise<Answer>
  /** Keeps a record of a request that could not be decoded, and gives its answer. */
  reject(request: RefusedCall, failure: Failure): Answer
  /** What every stage would answer; nothing is reserved, sent or spent (S17). */
  explain(request: CallOptions | Call): Promise<Explanation>
  /** The caller's own calls; an admin sees all of its namespace. */
  getCall(id: string): Promise<ShownCall | undefined>
  listCalls(filter: Omit<CallFilter, 'namespace'>): Promise<readonly ShownCall[]>
  cancelCall(id: string): Promise<CancelResult>
  /** S26: makes a prepared effect happen. Only its own caller may, with its token. */
  commit(id: string, token: string): Promise<ActionResult>
  /** S26: gives a prepared effect up. */
  rollback(id: string): Promise<ActionResult>
  /** S28: a person says whether an unknown effect happened, or that one was undone by hand. For admins and callers with `call:settle`. */
  settle(
    id: string,
    verdict: { readonly as: 'done' | 'not-done' | 'undone'; readonly reason: string; readonly output?: Json },
  ): Promise<ActionResult>
  /** S29: undoes a done effect, in the name of this caller. */
  compensate(id: string): Promise<ActionResult>
  /** Entries that something is left to do or to find out about. An admin sees all of its namespace. */
  listOpen(filter: {
    readonly states?: readonly EntryState[]
    readonly before?: string
    readonly limit: number
  }): Promise<readonly OpenEntry[]>
  /** S29. Without an id one is minted. */
  openSaga(id?: string): Promise<SagaResult>
  getSaga(id: string): Promise<SagaView | undefined>
  listSagas(filter: {
    readonly state?: SagaState
    readonly before?: string
    readonly limit: number
  }): Promise<readonly Saga[]>
  completeSaga(id: string): Promise<SagaResult>
  abortSaga(id: string, reason: string): Promise<SagaResult>
  /** Sends one key twice and compares what comes back. `accept` says that one real effect is meant. */
  verifyTool(
    name: string,
    options: {
      readonly version?: string
      readonly operation?: string
      readonly input?: Json
      readonly accept: boolean
    },
  ): Promise<ToolVerdict>
}

/** What an auditor can take away (S39). Not bound to a caller: the door that serves it lets admins in alone. */
export interface AuditDoor {
  /** The last signed checkpoint, made now where records came since. */
  head(): Promise<(CheckpointRow & { readonly publicKey: string }) | undefined>
  /** JSON lines: chains, records and checkpoints, ready to be verified offline. */
  export(): AsyncIterable<string>
}

export interface RuntimeHealth {
  readonly ready: boolean
  readonly checks: Readonly<Record<string, { readonly ok: boolean; readonly detail: string }>>
  readonly inFlight: number
  /** Effects in question. */
  readonly unknownEntries: number
  /** Entries that something is left to do or to find out about, by state. */
  readonly openEntries: Readonly<Partial<Record<EntryState, number>>>
}

export interface Runtime {
  readonly events: Events
  readonly dialects: DialectRegistry
  readonly resources: ResourceDoor
  readonly audit: AuditDoor
  /** Adds a tool that is a function of this program. Throws when it cannot be resolved. */
  define(tool: NativeToolDefinition): void
  /** A new UUIDv7, for doors that mint call ids. */
  mint(): string
  /** The door of one caller. There is none without a caller: deny is the default (S41). */
  as(caller: Caller | CallerIdentity): CallerDoor
  /** Live tools of a namespace, resolved. */
  tools(namespace: string): readonly ResolvedTool[]
  health(): Promise<RuntimeHealth>
  /** Takes no new calls, lets those under way end for up to `drainMs`, then aborts the rest and lets go. */
  close(options?: { readonly drainMs?: number }): Promise<void>
}

export interface CallerIdentity {
  readonly actor: string
  readonly namespace?: string
  readonly roles?: readonly string[]
  readonly permissions?: readonly string[]
}
