// The rules of who may act: lives, leases, what is taken over, timers, and shares of limits.
import { type Mutation, one } from './mutation.ts'

const LIFE_WRITER = 'src/store/sqlite/life-writer.ts'
const ENTRY_WRITER = 'src/store/sqlite/entry-writer.ts'
const ASSEMBLE = 'src/store/assemble-store.ts'
const TIMER_CODEC = 'src/store/sqlite/timer-codec.ts'
const SHARE = 'src/pipeline/share.ts'
const RECOVER = 'src/driver/recover.ts'

export const OWNERSHIP_MUTATIONS: readonly Mutation[] = [
  one(
    'lease-is-looked-at-when-the-first-byte-leaves',
    'S35',
    'src/pipeline/attempt.ts',
    `if (!this.#hooks.maySend()) throw new NotNow()`,
    ``,
  ),
  one(
    'a-third-of-the-lease-is-left',
    'S35',
    ASSEMBLE,
    `sendUntil = from + (leaseMs * 2) / 3`,
    `sendUntil = from + leaseMs * 2`,
  ),
  one('ended-lives-write-nothing', 'S35', LIFE_WRITER, `if (found[1] === 1) throw fenced(epoch)`, ``),
  one(
    'lives-end-after-their-lease',
    'S35',
    LIFE_WRITER,
    `and expires_at <= ? order by ordinal`,
    `and expires_at <= ? + 1e12 order by ordinal`,
  ),
  one(
    'only-ended-lives-are-taken-over',
    'S35',
    ENTRY_WRITER,
    `and epoch not in (select epoch from epoch where ended = 0)
     order by number limit ?`,
    `order by number limit ?`,
  ),
  one(
    'revisions-are-compared',
    'S35',
    ENTRY_WRITER,
    `if (at !== revision) return ['revision', findKey.get(scope, key) ?? null]`,
    ``,
    'every move of an entry is a compare-and-set: settle, commit, rollback, undo',
  ),
  one(
    'timers-are-in-one-hand',
    'S12',
    TIMER_CODEC,
    `'(claimed_by is null or claimed_by not in (select epoch from epoch where ended = 0))'`,
    `'(1 = 1)'`,
  ),
  one(
    'timers-of-ended-lives-are-taken-up',
    'S12',
    TIMER_CODEC,
    `'(claimed_by is null or claimed_by not in (select epoch from epoch where ended = 0))'`,
    `'(claimed_by is null)'`,
  ),
  {
    name: 'timers-are-not-early',
    rule: 'S12',
    note: 'the loop asks when the next one is due before it claims: both must be off',
    edits: [
      {
        file: 'src/store/sqlite/timer-writer.ts',
        find: `from timer where due_at <= ? and`,
        replace: `from timer where due_at <= ? + 1e12 and`,
      },
    ],
  },
  one(
    'limits-are-shared',
    'S38',
    SHARE,
    `const part = held ? Math.floor(max / before) : partOf(name, max, count)`,
    `const part = held ? Math.floor(max / before) : max + 0 * partOf(name, max, count)`,
  ),
  one(
    'recovery-says-unknown',
    'S36',
    RECOVER,
    `entry.readOnly ? 'not-done' : 'unknown'`,
    `entry.readOnly || entry.attempts >= 0 ? 'not-done' : 'unknown'`,
  ),
  one(
    'recovery-finds-what-was-left',
    'S36',
    'src/store/entry-rule.ts',
    `'intended', 'sent', 'committing'`,
    `'sent', 'committing'`,
  ),
  {
    name: 'orphans-that-cannot-be-asked-are-not-sent-again',
    rule: 'S36',
    note: 'recovery calls it harmless, and the loop looks again before it sends: either alone is enough',
    edits: [
      {
        file: RECOVER,
        find: `!committing && isRepeatHarmless(operation.effect)`,
        replace: `!committing`,
      },
      {
        file: 'src/pipeline/execute.ts',
        find: `if (open && !(await isStillHarmless(`,
        replace: `if (open && attempt < 0 && !(await isStillHarmless(`,
      },
    ],
  },
]
