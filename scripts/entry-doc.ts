// Writes the table of entry states into docs/reference/entry.md, from the sources.
import { readFileSync, writeFileSync } from 'node:fs'
import { EFFECT_OF_STATE, ENTRY_STATES, type EntryState } from '../src/contract/entry.ts'
import { TRANSITIONS } from '../src/contract/transitions.ts'

export const ENTRY_PAGE = new URL('../docs/reference/entry.md', import.meta.url)

const MEANING: Record<EntryState, string> = {
  reserved: 'a call has claimed the key; in memory only',
  'awaiting-approval': 'waits for somebody to decide',
  intended: 'about to be sent, and on record as such',
  sent: 'a byte may have left',
  done: 'it happened',
  'not-done': 'it did not happen',
  unknown: 'it may have happened',
  reconciling: 'it may have happened, and the tool is being asked',
  prepared: 'ready to be committed or rolled back',
  committing: 'the commit is about to be sent, or was',
  committed: 'it happened, by a commit',
  'commit-unknown': 'the commit may have happened',
  'rolling-back': 'given up; the tool has not acknowledged it yet',
  'rolled-back': 'given up, and acknowledged',
  compensating: 'being undone',
  compensated: 'undone',
  'compensation-failed': 'it could not be undone: a person has to look',
  canceled: 'called off before it had an effect',
}

/** The page with its table made anew. */
export function withStates(page: string): string {
  const rows = ENTRY_STATES.map((state) => {
    const next = TRANSITIONS[state].map((one) => `\`${one}\``).join(', ')
    return `| \`${state}\` | ${MEANING[state]} | ${next === '' ? 'nothing' : next} | \`${EFFECT_OF_STATE[state]}\` |`
  })
  const head = '| state | what it means | moves to | effect |\n|---|---|---|---|\n'
  const start = page.indexOf(head) + head.length
  const end = page.indexOf('\n## Sending')
  return `${page.slice(0, start)}${rows.join('\n')}\n${page.slice(end)}`
}

if (import.meta.main) writeFileSync(ENTRY_PAGE, withStates(readFileSync(ENTRY_PAGE, 'utf8')))
