// What every engine asks about an entry before it writes one: pure, so that all give the same answer.
import type { Entry, EntryState } from '../contract/entry.ts'
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

/** Somebody is at work on these: when that process ends, another has to take them over (S36). */
const UNDER_WAY: ReadonlySet<EntryState> = new Set<EntryState>(['intended', 'sent', 'committing'])

export function isUnderWay(state: EntryState): boolean {
  return UNDER_WAY.has(state)
}

/** An attempt is under way that a cancel can still stop; the word for a commit is given (S11). */
const STOPPABLE: ReadonlySet<EntryState> = new Set<EntryState>(['intended', 'sent'])

export function isStoppable(state: EntryState): boolean {
  return STOPPABLE.has(state)
}

/** Where the window of its identity counts from when an entry is new (S14); undefined for one without an identity. */
export function firstIdentityAt(
  entry: Pick<Entry, 'identity' | 'identityAt' | 'createdAt'>,
): number | undefined {
  return entry.identity === undefined ? undefined : (entry.identityAt ?? entry.createdAt)
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

/** How an entry can begin on disk. What comes before the intent is in memory only. */
const FIRST: ReadonlySet<EntryState> = new Set<EntryState>(['awaiting-approval', 'intended'])
/** How one that only reads can: it is written once, when it is over (S20, S34). */
const FIRST_OF_READ: ReadonlySet<EntryState> = new Set<EntryState>([...FIRST, 'done', 'not-done', 'canceled'])

/**
 * Why an entry may not be kept as it is. Keys are compared, so one that would change on disk could meet another's; and
 * an entry that began in the middle would have made moves that nobody has checked.
 */
export function insertProblem(insert: EntryInsert): string | undefined {
  const { scope, key, erased, state, revision, readOnly } = insert.entry
  if (!isKeepable(key) || !isKeepable(scope)) {
    return `key ${JSON.stringify(key)} of ${scope} has a NUL or half of a surrogate pair`
  }
  const where = `entry ${JSON.stringify(key)} of ${scope}`
  if (erased) return `${where} is inserted as erased`
  if (revision !== 1) return `${where} is inserted with revision ${revision}: the first is 1`
  if ((readOnly ? FIRST_OF_READ : FIRST).has(state)) return undefined
  return `${where} is inserted as ${state}: ${readOnly ? 'a read' : 'an effect'} cannot begin there`
}

/** Another attempt begins, or is asked for: what the one before was sent and ended with no longer counts. */
export function startsAttempt(path: readonly EntryState[]): boolean {
  return path.includes('intended') || path.includes('awaiting-approval')
}
