// A dialect: one wire shape, read and written on both sides. Towards callers it decodes requests and encodes answers;
// towards tools it encodes requests and decodes replies. No I/O, no clock.
import type { Json, JsonObject, Violation } from '../../util/json.ts'
import type { Answer, ToolUsage } from '../answer.ts'
import type { Call, DialectName, Echo, Trace } from '../call.ts'
import type { Failure } from '../failure.ts'

/** What is known of a request that could not be read: enough to answer it and to keep a record of it (S8). */
export type RefusedCall = Pick<
  Call,
  'id' | 'requestId' | 'freshId' | 'dialect' | 'namespace' | 'tool' | 'operation' | 'trace' | 'warnings'
>

export type Decoded =
  | { readonly ok: true; readonly call: Call }
  | { readonly ok: false; readonly failure: Failure; readonly call: RefusedCall }

/** Gives a new UUIDv7 each time. */
export type Mint = () => string

/** One send as a dialect sees it. It names the secret, and never holds it. */
export interface ToolRequest {
  readonly requestId: string
  readonly callId: string
  readonly namespace: string
  readonly taskId?: string
  readonly agent?: string
  readonly actor: string
  readonly tool: {
    readonly name: string
    readonly operation: string
    readonly version: string
    readonly digest: string
    readonly capabilities: readonly string[]
    readonly riskLevel: string
  }
  readonly input?: Json
  readonly isolation: string
  readonly timeoutMs: number
  readonly deadlineUnixMs: number
  /** 1 for the first send of the entry. */
  readonly attempt: number
  /** What the tool may deduplicate by (S19). */
  readonly key: string
  readonly trace: Trace
  /**
   * Of the credential that the tool is shown; absent where it is shown none. The credential itself is not named: to whoever
   * reads a request, `auth` is a claim about a secret of its own (S2).
   */
  readonly scopes?: readonly string[]
  /** What the caller's request and the tool's own declaration leave. Absent where neither says anything. */
  readonly memoryMb?: number
  readonly netAllowlist?: readonly string[]
  /** Where a tool that takes its time can report the end, and what it signs that with. */
  readonly callback?: { readonly url: string; readonly token: string }
  /** What the caller said of its surroundings; absent where it came in a dialect that does not ask. */
  readonly echo?: Echo
}

/** What a reply must answer. */
export interface ExpectedReply {
  readonly requestId: string
  readonly callId: string
  /** A v1 reply may leave its id out, as seed 000's own error example does. A wrong id is never accepted. */
  readonly idOptional?: boolean
}

export interface ToolSuccess {
  readonly kind: 'success'
  readonly output: Json
  readonly sideEffects?: readonly JsonObject[]
  readonly warnings?: readonly string[]
  readonly usage?: ToolUsage
  /** The tool prepared the effect and waits for commit (S26). */
  readonly commitToken?: string
}

export interface ToolFailure {
  readonly kind: 'failure'
  /** The word the tool used: `error`, `denied`, `retryable_error`, ... */
  readonly status: string
  /** In the tool's own words: a v1 code, or a four-outcome code where `dialect` says so. */
  readonly code: string
  readonly dialect: DialectName
  readonly reason?: string
  readonly message: string
  readonly retryable?: boolean
  readonly details?: JsonObject
  /** The tool states that nothing happened; definite (S23). */
  readonly harmless: boolean
  readonly sideEffects?: readonly JsonObject[]
  readonly warnings?: readonly string[]
  readonly usage?: ToolUsage
}

export type ToolReply =
  | ToolSuccess
  | ToolFailure
  | { readonly kind: 'malformed'; readonly violations: readonly Violation[] }

export interface Dialect {
  readonly name: DialectName
  /** Whether a request has the marks of this dialect. Valid or not is `decode`'s question. */
  recognises(body: JsonObject): boolean
  decode(body: JsonObject, mint: Mint): Decoded
  /** Throws for an answer that has no envelope: a running call is shown as the Call resource only (S8). */
  encode(answer: Answer): JsonObject
  encodeSend(request: ToolRequest): JsonObject
  /** Whether a tool's reply has the marks of this dialect. */
  recognisesReply(body: JsonObject): boolean
  decodeReply(body: JsonObject, expected: ExpectedReply): ToolReply
  /** Whether a body of unknown origin is surely an envelope of this dialect, and no third party's JSON. */
  looksLikeEnvelope(body: JsonObject, expected: ExpectedReply): boolean
}
