// What a tool does to the world, and what may therefore be done again.

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
  /** Set when `repeat` is `keyed`: which header carries the key and how long the tool remembers it. */
  readonly keyed?: { readonly header: string; readonly retentionMs: number }
  /** S14: the second constraint, over input fields. */
  readonly identity?: {
    /** JSON pointers into the input, sorted. */
    readonly fields: readonly string[]
    readonly windowMs: number
    readonly onRepeat: OnRepeat
  }
  /** S23: HTTP statuses that mean the tool did nothing. */
  readonly refusedOn: readonly number[]
}

/** Nothing can be done to the world by this call: reads never wait for the disk and may always be sent again. */
export function isReadOnly(rule: EffectRule): boolean {
  return rule.repeat === 'read'
}
