// Several calls that stand or fall together (S29).
import type { CallerSnapshot } from './entry.ts'

export const SAGA_STATES = [
  /** calls may join */
  'open',
  /** what its members did is being undone, the last one first */
  'aborting',
  /** a person has to decide: a member is unknown, was denied, may be tried again, or could not be undone */
  'blocked',
  'completed',
  'aborted',
] as const
export type SagaState = (typeof SAGA_STATES)[number]

export const SAGA_TRANSITIONS: Record<SagaState, readonly SagaState[]> = {
  open: ['aborting', 'blocked', 'completed'],
  aborting: ['aborted', 'blocked'],
  // Whoever decided lets it go on, gives it up as it is, or has it undone.
  blocked: ['open', 'aborting', 'completed'],
  completed: [],
  aborted: [],
}

export interface Saga {
  readonly namespace: string
  readonly id: string
  /** Whoever opened it: only this caller's calls may join, and what is undone is undone in its name. */
  readonly caller: CallerSnapshot
  readonly state: SagaState
  readonly revision: number
  /** Why it is in this state; empty while open. */
  readonly reason: string
  readonly createdAt: number
  readonly endedAt?: number
}
