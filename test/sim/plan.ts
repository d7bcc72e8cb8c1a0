// What a seed means: who asks for what and when, what goes wrong, and how bad the network is. Data, so that it can be
// made smaller.
import type { JsonObject } from '../../src/util/json.ts'

export interface Ask {
  readonly name: string
  readonly at: number
  readonly actor: string
  readonly tool: string
  /** The explicit key; else the request id is the key; without both it can be asked only once. */
  readonly key?: string
  readonly requestId?: string
  readonly input: JsonObject
  readonly deadlineMs?: number
  readonly timeoutMs?: number
  /** After the start; 0 is in the same breath. */
  readonly cancelMs?: number
  readonly hangUpMs?: number
  /** Listens only so long, although the call goes on. */
  readonly waitMs?: number
  /** How often it asks again: after a crash, a failure that says so, or an open state. */
  readonly patience: number
  readonly restMs: number
  readonly saga?: string
  /** What its caller does about the effect once it is told of it. */
  readonly follows?: readonly Follow[]
  /** Listens until people have decided, too. */
  readonly throughApproval?: true
  /** Takes the call back so long after it was told that it waits for people. */
  readonly withdrawMs?: number
}

/** Something that somebody agrees to beforehand (S45). */
export interface GrantPlan {
  readonly at: number
  readonly tool: string
  readonly ttlMs: number
  readonly maxUses: number
  /** When it is taken back, where it is. */
  readonly endMs?: number
}

/** Something about an effect, some time after its caller was told of it, on whichever replica. */
export interface Follow {
  readonly kind: 'commit' | 'rollback' | 'compensate'
  readonly afterMs: number
  /** With a token that was never given. */
  readonly forged?: true
}

/** Calls of one actor that stand or fall together (S29). */
export interface SagaPlan {
  readonly name: string
  readonly actor: string
  readonly at: number
  readonly endAt: number
  readonly end: 'complete' | 'abort'
}

/** `replica` is the one that it happens to; the first where absent. */
export type Incident = { readonly replica?: number } & (
  | { readonly kind: 'crash'; readonly at: number }
  | {
      readonly kind: 'crash-in-flush'
      readonly flush: number
      readonly when: 'before-commit' | 'after-commit'
    }
  | { readonly kind: 'crash-in-send'; readonly send: number; readonly when: 'before' | 'after' }
  | { readonly kind: 'pause'; readonly at: number; readonly ms: number }
  /** Held right when a request is handed to the network, before its first byte. */
  | { readonly kind: 'pause-in-send'; readonly send: number; readonly ms: number }
  | { readonly kind: 'restart'; readonly at: number; readonly drainMs: number }
  | {
      readonly kind: 'failed-flush'
      readonly flush: number
      readonly committed: boolean
      readonly exitMs: number
    }
  | { readonly kind: 'stall'; readonly flush: number; readonly ms: number }
  | { readonly kind: 'wall-set'; readonly at: number; readonly offsetMs: number }
  | { readonly kind: 'upgrade'; readonly at: number; readonly tool: string; readonly removesOld: boolean }
  /** Another rule about a tool: its calls still wait for people, or are forbidden. */
  | {
      readonly kind: 'policy'
      readonly at: number
      readonly tool: string
      readonly decision: 'require-approval' | 'deny'
    }
  /** A replica does not reach the database for a while. */
  | { readonly kind: 'partition'; readonly at: number; readonly ms: number }
  /** A batch is committed and its acknowledgement lost; the replica finds it when it looks again. */
  | { readonly kind: 'lost-ack'; readonly flush: number; readonly ms: number }
  /** The process dies when an entry, or what people are asked about one, has come into this state for the n-th time. */
  | { readonly kind: 'crash-in-state'; readonly state: CrashState; readonly nth: number }
)

export type CrashState =
  | 'reconciling'
  | 'compensating'
  | (typeof TWO_PHASE_STATES)[number]
  | (typeof QUESTION_STATES)[number]
export const TWO_PHASE_STATES = ['prepared', 'committing', 'rolling-back'] as const
/** Of an approval: the same word is in no entry. */
export const QUESTION_STATES = ['pending', 'approved', 'used'] as const

/** Probabilities and bounds for everything between the runtime and its tools, and for the disk. */
export interface Weather {
  readonly refused: number
  readonly lost: number
  readonly late: number
  readonly replyLost: number
  readonly cut: number
  readonly slow: number
  /** How often a tool answers with something else than success. */
  readonly trouble: number
  readonly latencyMs: number
  readonly flushMs: number
  /** How long a read takes that goes to a database elsewhere. */
  readonly readMs: number
}

export interface Plan {
  readonly seed: number
  readonly replicas: 1 | 2
  readonly sagas: readonly SagaPlan[]
  /** Somebody looks into the tools' own logs and settles what is in question (S28). */
  readonly person: boolean
  /** Set where calls wait for people: what those agree to beforehand. */
  readonly grants?: readonly GrantPlan[]
  readonly asks: readonly Ask[]
  readonly incidents: readonly Incident[]
  readonly weather: Weather
}

export const ACTORS = ['ann', 'bob'] as const
/** How far the wall clock is ever set off. */
export const WALL_OFFSET_MS = 4_000
/** The longest that one of the two halves of a flush takes when the disk is well. */
export const FLUSH_MS = 20
/** How long a replica lives after its last write. */
export const LEASE_MS = 5_000

/** `ages`: somebody comes back after hours, when what was kept has been erased. Every hour is many events: few do. */
export type WorldKind = 'classic' | 'ages' | 'effects' | 'replicas'

/** Those that know nothing of what can be asked, prepared or undone. */
export const PLAIN: ReadonlySet<WorldKind> = new Set<WorldKind>(['classic', 'ages'])
