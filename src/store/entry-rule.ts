// What every engine asks about an entry before it writes one: pure, so that all give the same answer.
import type { EntryState } from '../contract/entry.ts'
import { isLegalPath } from '../contract/transitions.ts'
import type { EntryInsert, EntryUpdate } from './store.ts'

/** Nothing is left to do or to find out. Only these are ever erased (S18); all others are open. */
const SETTLED: ReadonlySet<EntryState> = new Set<EntryState>([
  'done',
  'not-done',
  'committed',
  'rolled-back',
  'compensated',
  'canceled',
])

/** The effect did not happen or was undone: another entry may bring it about (S14). */
const WITHOUT_EFFECT: ReadonlySet<EntryState> = new Set<EntryState>([
  'not-done',
  'canceled',
  'rolled-back',
  'compensated',
])

export function isSettled(state: EntryState): boolean {
  return SETTLED.has(state)
}

/** Whether an entry stands in the way of another one with its identity. A tombstone does, as long as its window lasts. */
export function holdsIdentity(state: EntryState): boolean {
  return !WITHOUT_EFFECT.has(state)
}

/** Why an update must not be written to an entry in this state; undefined when it may. */
export function moveProblem(
  found: { readonly state: EntryState; readonly erased: boolean },
  update: Pick<EntryUpdate, 'scope' | 'key' | 'path'>,
): string | undefined {
  const where = `entry ${JSON.stringify(update.key)} of ${update.scope}`
  if (found.erased) return `${where} is erased: nothing but its key is left to work with`
  if (isLegalPath(found.state, update.path)) return undefined
  return `${where} is ${found.state} and may not become ${update.path.join(' > ')}`
}

/** Text that every engine gives back as it was: databases cut at NUL, and half of a surrogate pair is no character. */
export function isKeepable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Why an entry may not be kept as it is. Keys are compared, so one that would change on disk could meet another's. */
export function insertProblem(insert: EntryInsert): string | undefined {
  const { scope, key, erased } = insert.entry
  if (!isKeepable(key) || !isKeepable(scope)) {
    return `key ${JSON.stringify(key)} of ${scope} has a NUL or half of a surrogate pair`
  }
  if (erased) return `entry ${JSON.stringify(key)} of ${scope} is inserted as erased`
  return undefined
}

/** Another attempt begins: what the one before ended with no longer counts. */
export function startsAttempt(path: readonly EntryState[]): boolean {
  return path.includes('intended')
}
