// One intended effect, found by its key: what runs, who owns it, how far it got.
import type { Json, JsonObject } from '../util/json.ts'
import type { ToolUsage } from './answer.ts'
import type { Constraints, Echo, Trace } from './call.ts'
import type { ActorKind } from './caller.ts'
import type { ApprovalNeed } from './decision.ts'
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

/** It may have happened, and somebody has to find out: the tool, or a person. */
export const IN_QUESTION = [
  'unknown',
  'reconciling',
  'commit-unknown',
] as const satisfies readonly EntryState[]

/** The same, and what happened and could not be undone: nothing of it ends in the course of a call. */
export const NEEDS_A_LOOK = [...IN_QUESTION, 'compensation-failed'] as const satisfies readonly EntryState[]

export function isInQuestion({ state }: Pick<Entry, 'state'>): boolean {
  return (IN_QUESTION as readonly EntryState[]).includes(state)
}

/** A value, or a reference to one that is too large to keep inline. */
export type Payload =
  | { readonly inline: Json }
  | { readonly ref: string; readonly digest: string; readonly bytes: number; readonly mediaType: string }

/** The caller as it was when the call was accepted; recovery asks permit about this one (S36). */
export interface CallerSnapshot {
  readonly actor: string
  readonly namespace: string
  readonly roles: readonly string[]
  /** What it holds besides its roles; what those grant is looked up whenever it is asked. */
  readonly permissions: readonly string[]
  readonly admin: boolean
  readonly kind?: ActorKind
  /** What its token was narrowed to: a permission counts only where one of these covers it, too. */
  readonly scopes?: readonly string[]
  /** Agents that it may speak for, `*` at the end of a name stands for any rest. An agent speaks for itself. */
  readonly agents?: readonly string[]
  /** The system of agents that it belongs to, for policies that name one. */
  readonly system?: string
  /** The token that it showed: one that was revoked since denies (S36). */
  readonly token?: { readonly id: string; readonly issuedAt: number }
}

/** What an entry remembers of its end: enough to answer every call that asks for it. */
export interface EntryOutcome {
  readonly output?: Payload
  readonly failure?: Failure
  readonly sideEffects: readonly JsonObject[]
  readonly warnings: readonly string[]
  /** What the caller must show to commit (S26). */
  readonly commitToken?: string
  /** Wall time after which it can no longer be committed. */
  readonly commitBy?: number
  /** The tool's own word for what it has prepared; it goes back to the tool and to nobody else. */
  readonly toolToken?: string
  /** What people or a grant of theirs agreed to when it was prepared: it holds for the commit, and under these rules only. */
  readonly agreed?: { readonly policyVersion: string; readonly needs: readonly ApprovalNeed[] }
  /** What the tool said it used. */
  readonly usage?: ToolUsage
  /** By which the tool can be asked for work that it has taken on (S36). */
  readonly handle?: JsonObject
  /** The work goes on at the tool and nobody waits for it in an attempt: how long it may take, in wall time. */
  readonly accepted?: { readonly until: number; readonly withheld?: true }
  /** How it was settled where no reply did it: by asking the tool, by its own report, or by a person (S27, S28). */
  readonly settledBy?: 'status-query' | 'late-reply' | 'callback' | 'person'
  /** The last try to undo it (S29). */
  readonly compensation?: Compensation
}

/** A try to undo an effect. What became of it is found by scope and key, also where no build can say how it is undone. */
export interface Compensation {
  /** Its newest run: all runs of a try are calls with one key. */
  readonly callId: string
  /** Which try it is, from 1. */
  readonly tries: number
  /** In whose name. */
  readonly caller: CallerSnapshot
  readonly tool: string
  readonly operation: string
  readonly scope: string
  readonly key: string
  /** Why it did not undo it. */
  readonly failure?: Failure
}

/** What the request said beside its payload, as far as another send for it needs that. */
export interface EntryRequest {
  readonly agent?: string
  readonly taskId?: string
  readonly constraints?: Constraints
  readonly echo?: Echo
  /** The entry that it undoes, and the key that the tool knows that one by (S29). */
  readonly undoes?: { readonly entryId: string; readonly toolKey: string }
  /** The caller stops listening then: nothing is started for it any more. */
  readonly deadlineUnixMs?: number
  /** What the tool was to be shown with the first send, sealed: to be taken out of what it says later, to whomever. */
  readonly shown?: string
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
  readonly request?: EntryRequest
  /** The saga it is a member of. */
  readonly saga?: string
  /** What was asked for, and runs unless `narrowed` is there. Erased after its lifetime (S18). */
  readonly payload?: Payload
  readonly payloadHash: string
  /** What policy made of it, and is sent (S43). Erased with the payload. */
  readonly narrowed?: { readonly payload: Payload; readonly hash: string }
  /** What makes another request the same call: the identity fields where declared, else the whole payload (S13). */
  readonly fingerprint: string
  readonly fingerprintFields: readonly string[]
  /** S14's second constraint: (namespace, tool, operation, identity values), hashed. */
  readonly identity?: string
  /**
   * When the last attempt that may have the effect began, which is where the window of S14 counts from: `createdAt` at
   * first, then each move to `intended`. Only with an identity.
   */
  readonly identityAt?: number
  /** Which version of the tool's secret the first send had, where the tool remembers keys for each (S22). */
  readonly credential?: string
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

/** What was sent: what was asked for, or what policy made of it (S43). */
export function sentPayloadOf({ payload, narrowed }: Entry): Payload | undefined {
  return narrowed?.payload ?? payload
}

/** What is kept inline; a reference says nothing. */
export function inlineOf(payload: Payload | undefined): Json | undefined {
  return payload !== undefined && 'inline' in payload ? payload.inline : undefined
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
