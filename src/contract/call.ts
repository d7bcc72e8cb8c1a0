// One request by one caller, whatever dialect it came in.
import type { Json, JsonObject } from '../util/json.ts'
import type { Answer, CallState } from './answer.ts'
import type { EffectState } from './effect.ts'

export const DIALECT_NAMES = ['v1', 'legacy', 'four-outcome'] as const
export type DialectName = (typeof DIALECT_NAMES)[number]

export const JITTERS = ['none', 'full', 'equal'] as const
export type Jitter = (typeof JITTERS)[number]

export interface Trace {
  readonly traceId: string
  readonly spanId: string
}

/** What a request asks of the runtime. Each only narrows what the tool declares (S2). */
export interface Constraints {
  readonly timeoutMs?: number
  readonly maxAttempts?: number
  readonly backoffMs?: number
  readonly maxBackoffMs?: number
  readonly jitter?: Jitter
  readonly memoryMb?: number
  readonly netAllowlist?: readonly string[]
  readonly scopes?: readonly string[]
}

/** What a request says about the tool or the caller. Compared, never trusted (S2). */
export interface Claims {
  readonly capabilities?: readonly string[]
  readonly riskLevel?: string
  readonly isolation?: string
  readonly authProfile?: string
  readonly secretRef?: string
  readonly actor?: string
  /** Which send the caller takes this to be. Nothing is decided by it: the ledger counts (S24). */
  readonly attempt?: number
}

/** What a four-outcome request says of its own surroundings. Told on to four-outcome tools; nothing is decided by it. */
export interface Echo {
  /** `timezone` and `env` always; `locale`, `clock`, `scopes` and whatever else 004 leaves open where given. */
  readonly context: JsonObject
  readonly provenance: JsonObject
}

export interface Call {
  /** Writ's own id, UUIDv7 (S8). */
  readonly id: string
  /** The caller's id; minted when the dialect allows none. */
  readonly requestId: string
  readonly dialect: DialectName
  readonly namespace?: string
  readonly tool: string
  /** A semver range; absent means the highest live version. */
  readonly version?: string
  readonly operation: string
  /** Absent when the request had no input at all. */
  readonly input?: Json
  /** Text to use in place of `input`; parsed where the tool has a schema (S3). */
  readonly inputRaw?: string
  /** The explicit delivery key, where one was given (S13). */
  readonly key?: string
  /** True when `requestId` was minted here: nothing can be recalled for it. */
  readonly freshId: boolean
  readonly deadlineUnixMs?: number
  readonly dryRun: boolean
  readonly saga?: string
  readonly taskId?: string
  readonly agent?: string
  readonly trace: Trace
  readonly constraints: Constraints
  readonly claims: Claims
  /** Absent where the dialect has no words for it. */
  readonly echo?: Echo
  /** Where whoever asked wants to hear of the end, should the call have to wait for people. */
  readonly callback?: string
  readonly warnings: readonly string[]
}

/** A call as it is kept and shown at /v1/calls/{id}. */
export interface CallRecord {
  readonly namespace: string
  readonly id: string
  readonly requestId: string
  readonly dialect: DialectName
  readonly actor: string
  readonly tool: string
  readonly version?: string
  readonly operation: string
  readonly entryId?: string
  readonly state: CallState
  readonly effect: EffectState
  readonly epoch: string
  readonly createdAt: number
  readonly endedAt?: number
  /** What the caller was or would be told, by what is known so far. */
  readonly answer?: Answer
}
