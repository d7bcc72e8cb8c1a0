// One intended effect, found by its key: what runs, who owns it, how far it got.
import type { Json, JsonObject } from '../util/json.ts'
import type { ToolUsage } from './answer.ts'
import type { Trace } from './call.ts'
import type { EffectState } from './effect.ts'
import type { Failure } from './failure.ts'

export const ENTRY_STATES = [
  'reserved',
  'awaiting-approval',
  'intended',
  'sent',
  'done',
  'not-done',
  'unknown',
  'reconciling',
  'prepared',
  'committing',
  'committed',
  'commit-unknown',
  'rolling-back',
  'rolled-back',
  'compensating',
  'compensated',
  'compensation-failed',
  'canceled',
] as const
export type EntryState = (typeof ENTRY_STATES)[number]

/** A value, or a reference to one that is too large to keep inline. */
export type Payload =
  | { readonly inline: Json }
  | { readonly ref: string; readonly digest: string; readonly bytes: number; readonly mediaType: string }

/** The caller as it was when the call was accepted; recovery asks permit about this one (S36). */
export interface CallerSnapshot {
  readonly actor: string
  readonly namespace: string
  readonly roles: readonly string[]
  readonly permissions: readonly string[]
  readonly admin: boolean
}

/** What an entry remembers of its end: enough to answer every call that asks for it. */
export interface EntryOutcome {
  readonly output?: Payload
  readonly failure?: Failure
  readonly sideEffects: readonly JsonObject[]
  readonly warnings: readonly string[]
  readonly commitToken?: string
  /** What the tool said it used. */
  readonly usage?: ToolUsage
}

export interface Entry {
  readonly namespace: string
  /** (namespace, actor, tool name, operation), as text (S13). */
  readonly scope: string
  readonly key: string
  readonly id: string
  readonly state: EntryState
  /** Counts writes; every change names the one it read. */
  readonly revision: number
  /** The process life that owns it. */
  readonly epoch: string
  /** The call that claimed it. */
  readonly callId: string
  readonly requestId: string
  readonly dialect: string
  readonly trace: Trace
  readonly tool: string
  readonly version: string
  /** Pinned tool digest: what runs is this version, whatever is applied later. */
  readonly digest: string
  readonly operation: string
  readonly readOnly: boolean
  readonly caller: CallerSnapshot
  /** What runs. Erased after its lifetime (S18). */
  readonly payload?: Payload
  readonly payloadHash: string
  /** What makes another request the same call: the identity fields where declared, else the whole payload (S13). */
  readonly fingerprint: string
  readonly fingerprintFields: readonly string[]
  /** S14's second constraint: (namespace, tool, operation, identity values), hashed. */
  readonly identity?: string
  readonly attempts: number
  readonly approvalId?: string
  readonly outcome?: EntryOutcome
  /** For replicas: any of them may set it, and the owner of the entry looks at it. */
  readonly cancelRequested: boolean
  readonly createdAt: number
  readonly settledAt?: number
  /** Only the key is still remembered: payload and outcome are gone for good (S18). */
  readonly erased?: true
}

/** What each entry state says about the effect, read-only entries aside: those are always `none`. */
export const EFFECT_OF_STATE: Record<EntryState, EffectState> = {
  reserved: 'pending',
  'awaiting-approval': 'pending',
  intended: 'pending',
  sent: 'pending',
  done: 'done',
  'not-done': 'not-done',
  unknown: 'unknown',
  reconciling: 'unknown',
  prepared: 'prepared',
  committing: 'unknown',
  committed: 'done',
  'commit-unknown': 'unknown',
  'rolling-back': 'prepared',
  'rolled-back': 'not-done',
  compensating: 'done',
  compensated: 'compensated',
  'compensation-failed': 'done',
  canceled: 'not-done',
}
