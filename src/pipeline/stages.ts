// The life of a call: the ordered stages, and what a call is after each. Skipping one does not compile.
import type { CatalogTool } from '../catalog/catalog.ts'
import type { CallState, ToolUsage } from '../contract/answer.ts'
import type { Approval } from '../contract/approval.ts'
import type { Call, Jitter } from '../contract/call.ts'
import type { Caller } from '../contract/caller.ts'
import type { Decision } from '../contract/decision.ts'
import type { EffectState } from '../contract/effect.ts'
import type { Entry } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import type { Facts } from '../governance/rules.ts'
import type { Flight } from '../ledger/flight.ts'
import type { ResolvedOperation } from '../resource/resolved-tool.ts'
import type { Abort } from '../util/abort.ts'
import type { Json, JsonObject } from '../util/json.ts'
import type { Slot } from './admission.ts'

export const STAGES = [
  'recall',
  'resolve',
  'permit',
  'validate',
  'authorize',
  'claim',
  'approve',
  'admit',
  'execute',
  'verify',
  'settle',
] as const
export type Stage = (typeof STAGES)[number]

/** What a call comes to: an answer without the ids and the times of the one who asked. */
export interface CallResult {
  readonly state: CallState
  readonly effect: EffectState
  readonly output?: Json
  readonly failure?: Failure
  /** The number of the last send, 0 if none (S24). */
  readonly attempt: number
  readonly replayed: boolean
  readonly warnings: readonly string[]
  readonly sideEffects: readonly JsonObject[]
  readonly commitToken?: string
  /** Wall time after which it can no longer be committed. */
  readonly commitBy?: number
  /** What the tool said it used. */
  readonly usage?: ToolUsage
  readonly entryId?: string
  readonly tool?: { readonly version: string; readonly digest: string }
}

export type StageResult<T> =
  | { readonly kind: 'ok'; readonly state: T }
  /** The call is over, or answered from elsewhere. */
  | { readonly kind: 'end'; readonly result: CallResult }
  /** The call leaves memory and goes on when somebody decides. */
  | { readonly kind: 'suspend'; readonly result: CallResult }

/** Another process was faster: what was decided here was decided about another entry. */
export interface Again {
  readonly kind: 'again'
}

/** A fact about a call under way. */
export type CallFact =
  | { readonly kind: 'attempt'; readonly attempt: number }
  | { readonly kind: 'progress'; readonly fact: JsonObject }
  | { readonly kind: 'chunk'; readonly part: Json }

export type FactSink = (fact: CallFact) => void

export interface Held {
  flight: Flight<CallResult> | undefined
  slot: Slot | undefined
  /** An entry that is intended and not settled yet. */
  intended: Entry | undefined
  /** The entry this call works on or waits for, once that is known; and who wants to know. */
  entryId: string | undefined
  onEntry: (() => void) | undefined
  /** The number of the last send. */
  attempt: number
  /** Whether the start of the call was told. */
  started: boolean
  /** The tool has taken the work on: whoever follows that ends the call, and tells of it. */
  detached?: true
  /** The call is over; and what then remains to be done. */
  over: boolean
  onOver: (() => void) | undefined
}

/** One line of an explanation: what a stage answered, or would answer. */
export interface StageReport {
  readonly stage: Stage
  readonly verdict: 'ok' | 'end' | 'suspend' | 'not-reached'
  readonly reason: string
  readonly details: JsonObject
}

/** What a call undoes (S29). Only Writ itself makes such calls. */
export interface Undoes {
  readonly entryId: string
  /** The key that the tool knows the undone call by. */
  readonly toolKey: string
  /** Whether somebody has to agree, whatever the arguments are. */
  readonly needsApproval: boolean
}

export interface Received {
  readonly undoes?: Undoes
  /** The entry of an earlier life that this run takes up; the call is the one that made it (S36). */
  readonly resumed?: Entry
  readonly call: Call
  readonly caller: Caller
  readonly scope: string
  readonly key: string
  /** Wall time of arrival. */
  readonly receivedAt: number
  /** Monotonic time of arrival. */
  readonly startedAt: number
  /** Monotonic time at which the caller stops listening; Infinity where it named none. */
  readonly listensUntil: number
  readonly abort: Abort
  readonly onFact: FactSink
  /** What the caller should know; stages add to it. */
  readonly warnings: string[]
  /** What the call has taken; let go of at its end, whatever that is. */
  readonly held: Held
  /** There when the call is a dry run: what each stage answered (S17). */
  readonly reports?: StageReport[]
}

export interface Recalled extends Received {
  /** The key's entry, where it ended without an effect and this call is its next attempt (S16). */
  readonly continued: Entry | undefined
  /** What people have agreed to while the call waited: this run goes on with it (S45). */
  readonly agreed?: Approval
}

export interface Resolved extends Recalled {
  readonly target: CatalogTool
  readonly operation: ResolvedOperation
}

export interface Permitted extends Resolved {
  readonly permitted: true
}

/** What the request narrowed the tool's own settings to (S2). */
export interface Bounds {
  readonly timeoutMs: number
  readonly maxAttempts: number
  readonly backoffMs: number
  readonly maxBackoffMs: number
  readonly jitter: Jitter
}

export interface Valid extends Permitted {
  /** What was asked for: the entry's own payload where there is one (S13). */
  readonly input: Json | undefined
  /** The same as text, as it is kept, hashed and sent; empty without an input. */
  readonly payloadText: string
  readonly bounds: Bounds
}

/** An input with the text that it is kept, hashed and sent as. */
export interface SentInput {
  readonly input: Json | undefined
  readonly payloadText: string
}

export interface Granted extends Valid {
  /** What was decided by. */
  readonly facts: Facts
  readonly decision: Decision
  readonly decisionId: string
  /** Of the namespace, when it was made. */
  readonly rulesVersion: string
  /** What is sent, where policy has narrowed what was asked for (S43). */
  readonly narrowed?: SentInput
  /** Nobody asked for a dry run, and policy made one of it: that is on record as any call is. */
  readonly dried?: true
}

/** What is sent: what was asked for, or what policy made of it. */
export function sentInput(state: Granted): SentInput {
  return state.narrowed ?? state
}

export interface Claimed extends Granted {
  readonly entry: Entry
  readonly flight: Flight<CallResult>
  /** What people are asked, where somebody has to agree. */
  readonly question?: Approval
}

export interface Approved extends Claimed {
  /** What was agreed to, by people or by a grant of theirs; used up by the intent. Absent: nobody had to agree. */
  readonly approval?: Approval
  readonly grant?: UsedGrant
  readonly approved: true
}

/** A class of calls that somebody has agreed to beforehand. */
export interface UsedGrant {
  readonly id: string
  readonly by: string
  /** How many uses it has, where they are counted. */
  readonly maxUses?: number
  readonly until: number
}

export interface Admitted extends Approved {
  /** Monotonic time at which execution ends, whatever happens (S9). */
  readonly deadline: number
}

export interface Executed extends Admitted {
  readonly execution: Execution
}

/** How execution ended, before the output was looked at. */
export interface Execution {
  readonly attempt: number
  /** Whether any attempt may have let a byte out. */
  readonly sent: boolean
  readonly effect: EffectState
  readonly output?: Json
  readonly bytes?: number
  readonly failure?: Failure
  readonly sideEffects: readonly JsonObject[]
  readonly commitToken?: string
  /** The tool's own word for what it has prepared (S26). */
  readonly toolToken?: string
  readonly usage?: ToolUsage
  /** Set when no reply but the tool's answer to a status query said that it is done. */
  readonly asked?: true
  /** Monotonic deadline of the last send: a stray one may arrive until then (S22). */
  readonly lastDeadline?: number
  /** The entry as it is in the store; absent for reads, which have none until they settle. */
  readonly intended?: Entry
}

export interface Verified extends Executed {
  readonly verified: true
}

/** A call that is decided anew: what was decided the round before, about other rules or another entry, counts no more. */
export function undecide(state: Recalled): void {
  const { narrowed, grant, approval, question } = state as Partial<Approved>
  for (const [key, value] of Object.entries({ narrowed, grant, approval, question })) {
    if (value !== undefined) Reflect.deleteProperty(state, key)
  }
}

/** Moves a call on to its next type. One object goes through the whole pipeline; stages only add to it. */
export function advance<T extends Received, A extends object>(
  state: T,
  added: A,
): { readonly kind: 'ok'; readonly state: T & A } {
  return { kind: 'ok', state: Object.assign(state, added) }
}
