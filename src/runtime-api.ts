// What an embedding program and the doors see of a runtime.
import type { McpDoor } from './catalog/mcp-accept.ts'
import type { ResourceDoor } from './catalog/resource-door.ts'
import type { StopDoor } from './catalog/stop-door.ts'
import type { Answer } from './contract/answer.ts'
import type { Approval, ApprovalState } from './contract/approval.ts'
import type { Call } from './contract/call.ts'
import type { CallOptions } from './contract/call-options.ts'
import type { CallbackReport, ReportResult } from './contract/callback-report.ts'
import type { Caller, CallerIdentity } from './contract/caller.ts'
import type { RefusedCall } from './contract/dialect/dialect.ts'
import type { DialectRegistry } from './contract/dialect/registry.ts'
import type { EntryState } from './contract/entry.ts'
import type { EvidenceType } from './contract/evidence.ts'
import type { ExplainedDecision, Governing } from './contract/explanation.ts'
import type { Failure } from './contract/failure.ts'
import type { FreezeTarget } from './contract/freeze.ts'
import type { Saga, SagaState } from './contract/saga.ts'
import type { ShownCall } from './contract/shown-call.ts'
import type { Stop } from './contract/stop.ts'
import type { NativeToolDefinition } from './define-tool.ts'
import type { Events } from './event/event.ts'
import type { ApprovalGrant } from './governance/grant.ts'
import type { Held } from './governance/rules.ts'
import type { CallFact, StageReport } from './pipeline/stages.ts'
import type { Condition } from './resource/resolved-governance.ts'
import type { ResolvedTool } from './resource/resolved-tool.ts'
import type { CallFilter, CheckpointRow, TimerKind } from './store/store.ts'
import type { Json, JsonObject } from './util/json.ts'

export type { McpDoor, ToolDefinition } from './catalog/mcp-accept.ts'
export type { ApplyOutcome, ResourceDoor } from './catalog/resource-door.ts'
export type { CallerIdentity } from './contract/caller.ts'
export type { CallFact, StageReport } from './pipeline/stages.ts'

export interface AnswerOptions {
  /** @default until it has ended, or has to wait for people */
  readonly waitMs?: number
  /** Waits for people, too: without it a call that somebody has to decide about is answered at once. */
  readonly throughApproval?: boolean
}

export interface CallHandle {
  readonly id: string
  /** The answer; after `waitMs`, what is known by then (an open state). */
  answer(options?: AnswerOptions): Promise<Answer>
  /** Resolves once the call can be found by its id, also after a crash. */
  accepted(): Promise<void>
  cancel(): void
  /** The caller no longer listens: ends only an unshared read-only call (S11). */
  hangUp(): void
  onFact(listener: (fact: CallFact) => void): () => void
}

export interface Explanation {
  readonly decision: ExplainedDecision
  readonly stages: readonly StageReport[]
  /** What decided; absent where the call would end before any rule is asked. */
  readonly governing?: Governing
  /** What would have to change for the call to be sent at once, one sentence each. */
  readonly changes: readonly string[]
  /** What would be sent, as policy leaves it; absent where nothing would be, or without an input. */
  readonly sends?: Json
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

export type FreezeResult =
  | { readonly kind: 'ok'; readonly stop: Stop }
  | { readonly kind: 'refused'; readonly failure: Failure }
  | { readonly kind: 'not-found' }

export interface FreezeDoor {
  /** On disk when it resolves: from then on no write is claimed that it is about, on any replica. */
  freeze(
    target: FreezeTarget,
    options: { readonly reason: string; readonly inFlight?: Stop['inFlight'] },
  ): Promise<FreezeResult>
  thaw(target: FreezeTarget, options: { readonly reason: string }): Promise<FreezeResult>
  /** What is frozen of this namespace, and everywhere. */
  listFreezes(): readonly Stop[] | { readonly kind: 'refused'; readonly failure: Failure }
}

/** An approval, for whoever decides it. */
export interface ApprovalView extends Approval {
  /** For writes: what differs from the last call of the same tool, operation and requester that was agreed to. */
  readonly diff?: ApprovalDiff
}

export interface ApprovalDiff {
  readonly approvalId: string
  readonly callId: string
  readonly at: number
  /** `path` is a JSON pointer into the input. */
  readonly changes: readonly {
    readonly op: 'add' | 'remove' | 'change'
    readonly path: string
    readonly from?: Json
    readonly to?: Json
  }[]
}

export type ApprovalResult =
  | { readonly kind: 'ok'; readonly approval: ApprovalView }
  | { readonly kind: 'refused'; readonly failure: Failure }
  | { readonly kind: 'not-found' }

/** A class of calls that is to be agreed to beforehand: this tool as it is now, such inputs, for so long. */
export interface GrantWish {
  readonly tool: string
  /** @default the tool's own */
  readonly operation?: string
  readonly when?: readonly Condition[]
  readonly caller?: string
  readonly role?: string
  readonly ttlMs: number
  readonly maxUses?: number
  readonly reason?: string
}

export interface GrantView extends ApprovalGrant {
  readonly namespace: string
  readonly createdAt: number
  readonly reason?: string
  /** How often it was used, where uses are counted. */
  readonly uses?: number
}

export type GrantResult =
  | { readonly kind: 'ok'; readonly grant: GrantView }
  | { readonly kind: 'refused'; readonly failure: Failure }
  | { readonly kind: 'not-found' }

/** Approvals that this caller may see; nobody decides about its own calls (S45). */
export interface ApprovalDoor {
  /** Newest first; the page ends before the id `before`. */
  listApprovals(filter: {
    readonly states?: readonly ApprovalState[]
    readonly tool?: string
    readonly requester?: string
    readonly before?: string
    readonly limit: number
  }): Promise<readonly Approval[]>
  getApproval(id: string): Promise<ApprovalView | undefined>
  approve(id: string, options?: { readonly comment?: string }): Promise<ApprovalResult>
  deny(id: string, options: { readonly reason: string }): Promise<ApprovalResult>
  delegate(id: string, options: { readonly to: string }): Promise<ApprovalResult>
  /** A denial no longer counts for its key: its caller may ask again. For holders of `approval:override`. */
  overrideDenial(id: string, options: { readonly reason: string }): Promise<ApprovalResult>
  makeGrant(wish: GrantWish): Promise<GrantResult>
  /** Those that hold now. */
  listGrants(): Promise<readonly GrantView[]>
  endGrant(id: string, options?: { readonly reason?: string }): Promise<GrantResult>
}

/** Decides in the name that a link was made for. */
export interface ApprovalDecider {
  find(namespace: string, approvalId: string): Promise<Approval | undefined>
  decide(
    namespace: string,
    approvalId: string,
    choice: {
      readonly approver: Caller
      readonly decision: 'approved' | 'denied'
      readonly comment?: string
      /** Each link decides once. */
      readonly linkId: string
    },
  ): Promise<
    | { readonly kind: 'decided'; readonly approval: Approval }
    | { readonly kind: 'refused'; readonly failure: Failure }
    | { readonly kind: 'not-found' }
  >
}

/** Everything one caller can do. */
export interface CallerDoor extends FreezeDoor, ApprovalDoor {
  readonly caller: Caller
  start(request: CallOptions | Call): CallHandle
  /** Sugar for `start(request).answer(options)`. */
  call(request: CallOptions | Call, options?: AnswerOptions): Promise<Answer>
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

/** The secrets that the store keeps, sealed. */
export interface SecretDoor {
  /**
   * Wraps every data key with the newest master key, which is made first where the source takes one. Calls go on
   * meanwhile. Throws where there is no master key, or its source cannot be read or written.
   */
  rotateKey(caller: Pick<Caller, 'actor'>): Promise<KeyRotation>
}

export interface KeyRotation {
  /** The newest, which everything is wrapped by from now on. */
  readonly keyId: string
  /** It was made just now. Else it is what the source already had: whoever keeps that adds keys. */
  readonly added: boolean
  readonly rewrapped: number
  /** Others kept changing them: ask again. */
  readonly left: number
  /** These could not be opened, and stay as they are. */
  readonly unopened: readonly UnopenedSecret[]
  /** Older keys that nothing needs any more, but backups of the store. Empty while something does. */
  readonly unused: readonly string[]
}

export interface UnopenedSecret {
  readonly namespace: string
  readonly name: string
  readonly why: string
}

export interface Runtime {
  readonly events: Events
  readonly dialects: DialectRegistry
  readonly resources: ResourceDoor
  readonly audit: AuditDoor
  /** What an operator has stopped: freezes, and tokens that were taken back. */
  readonly stops: StopDoor
  readonly secrets: SecretDoor
  /** Tools of MCP servers: what was taken on of them, and what their servers say by now. */
  readonly mcp: McpDoor
  /** For signed links, which say by themselves who decides. */
  readonly approvals: ApprovalDecider
  /** What a tool reports about long work by itself, signed with the token of the call. */
  report(report: CallbackReport): Promise<ReportResult>
  /** What a caller holds by now, with what its roles grant. */
  held(caller: Caller): Held
  /** Puts a fact about no call into evidence; it is on disk when this resolves. */
  record(namespace: string, type: EvidenceType, body: JsonObject): Promise<void>
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
