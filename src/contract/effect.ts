// What a tool does to the world, and what may therefore be done again.
import type { JsonObject } from '../util/json.ts'

/** Seed 001's seven classes. */
export const EFFECT_CLASSES = [
  'read-only',
  'reversible-write',
  'irreversible',
  'financial-high-impact',
  'external-communication',
  'code-execution',
  'administrative',
] as const
export type EffectClass = (typeof EFFECT_CLASSES)[number]

/** Seed 004's three. */
export const DETERMINISMS = ['pure', 'idempotent', 'side_effectful'] as const
export type Determinism = (typeof DETERMINISMS)[number]

/** The rows of the table S22: what a second send of the same bytes would do. */
export type Repeat =
  /** pure or read-only: nothing happens either time */
  | 'read'
  /** PUT-like: a repeat is harmless */
  | 'natural'
  /** harmless while the tool remembers the key */
  | 'keyed'
  /** the tool can be asked whether it happened */
  | 'query'
  /** prepare, then commit or roll back */
  | 'two-phase'
  /** cannot be asked, or nothing was declared */
  | 'never'

/** What is known of the effect of a call, on every answer. */
export const EFFECT_STATES = [
  /** no effect is possible: a read, or refused before anything was sent */
  'none',
  /** not decided yet: running or waiting */
  'pending',
  'not-done',
  'done',
  'unknown',
  'prepared',
  'compensated',
] as const
export type EffectState = (typeof EFFECT_STATES)[number]

export type OnRepeat = 'block' | 'approve' | 'replay'

/** The effect of one operation, resolved from its declaration with S21's defaults. */
export interface EffectRule {
  readonly class: EffectClass
  readonly determinism: Determinism
  readonly repeat: Repeat
  /** S15: a request id does not count as a key. */
  readonly keyRequired: boolean
  /**
   * Set when `repeat` is `keyed`: which header carries the key, how long the tool remembers it, and for whom: `tool` for
   * whoever calls it, absent for each credential by itself.
   */
  readonly keyed?: { readonly header: string; readonly retentionMs: number; readonly scope?: 'tool' }
  /** S14: the second constraint, over input fields. */
  readonly identity?: {
    /** JSON pointers into the input, sorted. */
    readonly fields: readonly string[]
    readonly windowMs: number
    readonly onRepeat: OnRepeat
  }
  /** S23: HTTP statuses that mean the tool did nothing. */
  readonly refusedOn: readonly number[]
  /** Set where the tool can be asked whether it happened (S27), whatever `repeat` is. */
  readonly statusQuery?: StatusQuery
  /** Set when `repeat` is `two-phase` (S26). */
  readonly twoPhase?: TwoPhase
  /** How a done effect is undone (S29). */
  readonly compensation?: Compensation
}

/** Operations are named as in the tool's `operations`; those made from a URL are internal ones. */
export interface StatusQuery {
  readonly operation: string
  /** JSON pointer into the answer. */
  readonly state: string
  readonly done: readonly Scalar[]
  readonly notDone: readonly Scalar[]
  readonly running: readonly Scalar[]
  /** JSON pointer to what the call would have returned. */
  readonly output: string
  /** Once it has said `not_done`, later arrivals of this key fail at the tool. */
  readonly fencing: boolean
  /** How long after the deadline of the last attempt a `not_done` is believed, where the tool does not fence. */
  readonly quietMs: number
  /** How long the tool is asked before it is left to a person. */
  readonly deadlineMs: number
}

export type Scalar = string | number | boolean

export interface TwoPhase {
  /** Absent: the operation itself prepares. */
  readonly prepare?: string
  readonly commit: string
  readonly rollback: string
  /** HTTP statuses of a rollback that say that nothing is left to roll back. */
  readonly rolledBackOn: readonly number[]
  /** How long a prepared effect waits for its commit before it is rolled back. */
  readonly deadlineMs: number
}

export interface Compensation {
  /** Another tool of the namespace; absent: an operation of the same one. */
  readonly tool?: string
  readonly operation: string
  /** A template of the input: every text in it that is a JSON pointer is looked up in {input, output}. */
  readonly inputMap?: JsonObject
  readonly requiresApproval: boolean
}

/** Nothing can be done to the world by this call: reads never wait for the disk and may always be sent again. */
export function isReadOnly(rule: EffectRule): boolean {
  return rule.repeat === 'read'
}
