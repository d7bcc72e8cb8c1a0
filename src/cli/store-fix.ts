// What to do about a database file that cannot be opened, by what SQLite says of it.

const BROKEN =
  'restore a backup of it, or choose another folder with --data: a ledger there is new, and knows no earlier key'

/** SQLite's own words: they come through a worker, which passes on no codes. */
const FIXES: readonly (readonly [RegExp, string])[] = [
  [/malformed|not a database/i, BROKEN],
  [/disk is full/i, 'make room on that disk, then start again: what was under way is recovered'],
  [
    /readonly database|unable to open/i,
    'run as the owner of the folder, on a disk that can be written, or choose another with --data',
  ],
]

/** undefined where the message is about something else. */
export function storeFixOf(message: string): string | undefined {
  return FIXES.find(([said]) => said.test(message))?.[1]
}

/** For a database of which nothing more is known than that it cannot be read. */
export function brokenStoreFix(message: string): string {
  return storeFixOf(message) ?? BROKEN
}
