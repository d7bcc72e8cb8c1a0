// The entry state machine, as a table. Stores refuse every move that is not in it.
import type { EntryState } from './entry.ts'

export const TRANSITIONS: Record<EntryState, readonly EntryState[]> = {
  reserved: ['awaiting-approval', 'intended', 'canceled'],
  'awaiting-approval': ['intended', 'not-done', 'canceled'],
  // Between the durable intent and the send a process can die: unknown, though nothing may have left (S36).
  intended: ['sent', 'not-done', 'unknown', 'canceled'],
  // Attempts of one call share its intent (S34): no state of the next one is ever on disk.
  sent: ['done', 'not-done', 'unknown', 'prepared', 'canceled'],
  // A retryable failure whose effect is not-done is continued by a later call (S16).
  'not-done': ['intended', 'awaiting-approval'],
  // To intended only where a repeat is harmless (S22): the next send finds out what became of the last.
  unknown: ['reconciling', 'done', 'not-done', 'intended'],
  reconciling: ['unknown', 'done', 'not-done'],
  prepared: ['committing', 'rolling-back'],
  committing: ['committed', 'commit-unknown', 'prepared'],
  'commit-unknown': ['committed', 'prepared'],
  'rolling-back': ['rolled-back'],
  done: ['compensating'],
  committed: ['compensating'],
  compensating: ['compensated', 'compensation-failed'],
  'compensation-failed': ['compensating'],
  compensated: [],
  'rolled-back': [],
  canceled: [],
}

/** Whether `from` may become each of `path` in turn. An empty path is a write that keeps the state. */
export function isLegalPath(from: EntryState, path: readonly EntryState[]): boolean {
  let at = from
  for (const next of path) {
    if (!TRANSITIONS[at].includes(next)) return false
    at = next
  }
  return true
}
