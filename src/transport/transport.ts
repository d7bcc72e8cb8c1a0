// How one attempt reaches a tool. An attempt is a stream of facts; the last is its reply.
import type { ToolUsage } from '../contract/answer.ts'
import type { Constraints, Echo, Trace } from '../contract/call.ts'
import type { DialectRegistry } from '../contract/dialect/registry.ts'
import type { FailureId } from '../contract/failures.ts'
import type { Credentials, Presented } from '../credential/credential.ts'
import type { ResolvedMcpServer } from '../resource/resolved-mcp-server.ts'
import type { ResolvedOperation, ResolvedTool, ToolType } from '../resource/resolved-tool.ts'
import type { Abort } from '../util/abort.ts'
import type { Json, JsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'
import type { McpSessions } from './mcp/session.ts'

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
  /**
   * Whoever sends keeps handles and asks again: work that the tool takes on is not waited for in the attempt, which ends
   * with `Accepted`. Without it the transport waits by itself.
   */
  readonly detach?: true
  /** What is to be shown to the tool; absent where it declares no credential. */
  readonly credentials?: Presented
  /** What the tool was shown before for the work of this key, sealed: it is taken out of the reply as well. */
  readonly shown?: { readonly key: string; readonly note: string }
  /** Only a credential of this version may be shown: the tool remembers the key for that one alone (S22). */
  readonly credentialVersion?: string
  /** The access token of this call was renewed already: a tool that refuses this one refuses the client. */
  readonly renewed?: true
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
  /** What to do in this very case; the row's hint where absent. Never a word of the tool. */
  readonly fix?: string
  readonly details?: JsonObject
  /** The tool did nothing, for certain (S23). */
  readonly definite: boolean
  /** What the tool itself said about trying again. */
  readonly toolRetryable?: boolean
  /** Nothing was sent, and it may be otherwise soon, whatever the row of the failure says. */
  readonly transient?: true
  readonly retryAfterMs?: number
  readonly sideEffects?: readonly JsonObject[]
  readonly warnings?: readonly string[]
  readonly usage?: ToolUsage
}

/** How an attempt ends. */
export type FinalReply = Success | Refusal

/** The tool has taken the work on, or is still at it: the attempt ends for now, and holds nothing meanwhile. */
export interface Accepted {
  readonly kind: 'accepted'
  /** When it is worth asking again. */
  readonly pollInMs: number
  /** Why the tool could not be asked this time. Whoever asks counts, and waits longer each time. */
  readonly missed?: string
}

export type Reply = FinalReply | Accepted

export interface Transport {
  readonly type: ToolType
  /** Never throws for anything a tool or a network can do: that is a reply. Ends soon after `send.abort`. */
  attempt(send: Send, sink: AttemptSink): Promise<Reply>
  /** Asks once for work that was accepted, maybe in an earlier life of the process. Absent: handles are never given. */
  attach?(handle: JsonObject, send: Send, sink: AttemptSink): Promise<Reply>
  /** Tools are told where to report their end by themselves: whatever they are sent must be on record before. */
  readonly reports?: true
  /**
   * Reads what a tool has sent by itself about the work of this send; `accepted` where that is no end. The handle is there
   * once the tool's own word that it has taken the work on is on record.
   */
  receive?(body: Uint8Array, send: Send, handle?: JsonObject): Promise<Reply>
  close(): Promise<void>
}

export interface TransportOptions {
  readonly world: World
  /** How Writ names itself to tools over HTTP, such as `writ/1.2.3`. @default 'writ' */
  readonly userAgent?: string
  /** The dialects of the runtime; made anew where none are handed in. */
  readonly dialects?: DialectRegistry
  /** For transports that keep connections of their own; a send has what it shows with it. */
  readonly credentials?: Credentials
  /** Where tools can report the end of long work, and what they sign it with. Absent: nowhere. */
  readonly callbacks?: CallbackAddress
  /** The MCP server of that name, as it is declared now. Absent: there is none. */
  readonly mcpServer?: (namespace: string, name: string) => ResolvedMcpServer | undefined
  /** Connections that are shared with discovery, and closed by whoever made them. Absent: connections of its own. */
  readonly mcpSessions?: McpSessions
  /** Commands that tools of type cli may run on this machine. @default none */
  readonly cliAllow?: readonly string[]
}

/** How a tool reaches this server about one call. */
export interface CallbackAddress {
  url(send: Pick<Send, 'namespace' | 'callId'>): string
  /** Made anew from the server's key each time, so that no replica has to keep it. A secret. */
  token(send: Pick<Send, 'namespace' | 'callId' | 'key'>): string
}

export type TransportFactory = (options: TransportOptions) => Transport
