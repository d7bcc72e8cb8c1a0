// How one attempt reaches a tool. An attempt is a stream of facts; the last is its reply.
import type { ToolUsage } from '../contract/answer.ts'
import type { Constraints, Echo, Trace } from '../contract/call.ts'
import type { DialectRegistry } from '../contract/dialect/registry.ts'
import type { FailureId } from '../contract/failures.ts'
import type { ResolvedOperation, ResolvedTool, ToolType } from '../resource/resolved-tool.ts'
import type { Abort } from '../util/abort.ts'
import type { Json, JsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'

/** Everything one send needs. `input` is what the ledger keeps, byte for byte the same on every attempt. */
export interface Send {
  readonly callId: string
  readonly requestId: string
  readonly tool: ResolvedTool
  readonly operation: ResolvedOperation
  readonly input: Json | undefined
  /** The input as JSON text, where it was already written. */
  readonly text?: string
  /** base64url(SHA-256(scope, key)): never the caller's own key (S19). */
  readonly key: string
  /** 1 for the first send of the entry. */
  readonly attempt: number
  /** The key of the call that this one undoes: what `{key}` in an address stands for then (S27, S29). */
  readonly undoneKey?: string
  /** The tool's own word for what it has prepared, for its commit or rollback. */
  readonly commitToken?: string
  readonly namespace: string
  readonly actor: string
  readonly agent?: string
  readonly taskId?: string
  readonly trace: Trace
  /** What the caller's request asks for; tools that are told get it with their own declaration (S2). */
  readonly constraints?: Constraints
  /** What the caller said of its surroundings, for tools that want to know. */
  readonly echo?: Echo
  /** What is left for this attempt when it starts, in milliseconds. */
  readonly timeoutMs: number
  /** The same in wall time, for tools that want an absolute deadline. */
  readonly deadlineUnixMs: number
  /** Aborted at the attempt's deadline or on cancel; the transport then stops as fast as it can and still replies. */
  readonly abort: Abort
}

/** Facts on the way. All are called synchronously. */
export interface AttemptSink {
  /** Before the first byte may leave. Exact: never called when nothing left, always before anything did. */
  sending(): void
  /** The tool took the work on and can be asked for it by this handle, also after a crash. Once in an attempt. */
  accepted(handle: JsonObject): void
  progress(fact: JsonObject): void
  chunk(part: Json): void
  /** What came after the attempt had been given up: it may still say what became of the effect (S28). */
  late(reply: Reply): void
}

export interface Success {
  readonly kind: 'success'
  readonly output: Json
  /** Size of the output as it arrived. */
  readonly bytes: number
  readonly warnings?: readonly string[]
  readonly sideEffects?: readonly JsonObject[]
  readonly usage?: ToolUsage
  readonly commitToken?: string
}

export interface Refusal {
  readonly kind: 'failure'
  readonly failure: FailureId
  readonly message?: string
  readonly details?: JsonObject
  /** The tool did nothing, for certain (S23). */
  readonly definite: boolean
  /** What the tool itself said about trying again. */
  readonly toolRetryable?: boolean
  readonly retryAfterMs?: number
  readonly sideEffects?: readonly JsonObject[]
  readonly warnings?: readonly string[]
  readonly usage?: ToolUsage
}

export type Reply = Success | Refusal

export interface Transport {
  readonly type: ToolType
  /** Never throws for anything a tool or a network can do: that is a reply. Ends soon after `send.abort`. */
  attempt(send: Send, sink: AttemptSink): Promise<Reply>
  /** Takes up an accepted attempt of an earlier life of the process. Absent: handles are never given. */
  attach?(handle: JsonObject, send: Send, sink: AttemptSink): Promise<Reply>
  close(): Promise<void>
}

export interface TransportOptions {
  readonly world: World
  /** How Writ names itself to tools over HTTP, such as `writ/1.2.3`. @default 'writ' */
  readonly userAgent?: string
  /** The dialects of the runtime; made anew where none are handed in. */
  readonly dialects?: DialectRegistry
}

export type TransportFactory = (options: TransportOptions) => Transport
