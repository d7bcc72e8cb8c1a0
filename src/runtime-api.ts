// What an embedding program and the doors see of a runtime.
import type { ResourceDoor } from './catalog/resource-door.ts'
import type { Answer } from './contract/answer.ts'
import type { Call, CallRecord } from './contract/call.ts'
import type { CallOptions } from './contract/call-options.ts'
import type { Caller } from './contract/caller.ts'
import type { RefusedCall } from './contract/dialect/dialect.ts'
import type { DialectRegistry } from './contract/dialect/registry.ts'
import type { Failure } from './contract/failure.ts'
import type { NativeToolDefinition } from './define-tool.ts'
import type { Events } from './event/event.ts'
import type { CallFact, StageReport } from './pipeline/stages.ts'
import type { ResolvedTool } from './resource/resolved-tool.ts'
import type { CallFilter } from './store/store.ts'

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
  getCall(id: string): Promise<CallRecord | undefined>
  listCalls(filter: Omit<CallFilter, 'namespace'>): Promise<readonly CallRecord[]>
  cancelCall(id: string): Promise<CancelResult>
}

export interface RuntimeHealth {
  readonly ready: boolean
  readonly checks: Readonly<Record<string, { readonly ok: boolean; readonly detail: string }>>
  readonly inFlight: number
  readonly unknownEntries: number
}

export interface Runtime {
  readonly events: Events
  readonly dialects: DialectRegistry
  readonly resources: ResourceDoor
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
