// writ calls unknown: effects that nobody knows the end of, with what failed and what happens next.
import type { OpenEffect } from '../../client/effects.ts'
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { PAGE_FLAGS, printPage, readPage } from '../paging.ts'
import { type Column, renderAge } from '../print.ts'
import { withProgress } from '../progress.ts'

const STATES = [
  'unknown',
  'reconciling',
  'commit-unknown',
  'compensation-failed',
  'prepared',
  'committing',
  'rolling-back',
  'compensating',
  'awaiting-approval',
  'intended',
  'sent',
] as const

export const command = defineCommand({
  name: 'calls unknown',
  summary: 'List effects that nobody knows the end of',
  details: [
    'Newest first: unknown, being asked about, unknown whether committed, and those that could not be undone. NEXT says what happens by itself; where it says settle, a person has to find out and say so with writ calls settle.',
  ],
  args: [],
  flags: {
    state: {
      type: 'string',
      values: STATES,
      multiple: true,
      description: 'Only effects in this state, also one that is not in question.',
      placeholder: 'STATE',
    },
    ...PAGE_FLAGS,
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    { line: 'writ calls unknown', does: 'What may have happened' },
    { line: 'writ calls unknown --state prepared', does: 'What waits for its commit' },
  ],
  async run({ flags, terminal }) {
    const { state } = flags
    const wanted = readPage(flags)
    const page = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'asking for the effects', () =>
        client.listEntries({
          ...wanted,
          ...(state.length === 0 ? {} : { states: state }),
        }),
      ),
    )
    const none = state.length === 0 ? 'Nothing is unknown.' : 'Nothing is in that state.'
    await printPage(terminal, flags.output, page, { rows: page.entries, columns, none })
    return EXIT.ok
  },
})

function columns(now: number): readonly Column<OpenEffect>[] {
  return [
    { title: 'CALL', value: ({ call_id }) => call_id },
    {
      title: 'TOOL',
      value: ({ tool }) => (tool.operation === 'invoke' ? tool.name : `${tool.name} ${tool.operation}`),
    },
    { title: 'STATE', value: ({ state }) => state },
    {
      title: 'SINCE',
      value: ({ since, created_at }) => renderAge(now - Date.parse(since ?? created_at)),
    },
    { title: 'ATTEMPTS', value: ({ attempts }) => String(attempts) },
    { title: 'FAILED', value: ({ error }) => error?.failure ?? '-' },
    { title: 'NEXT', value: (effect) => nextText(effect, now) },
  ]
}

/** By the kind of timer; a newer server may have kinds that this command does not know. */
const NEXT: Readonly<Record<string, string>> = {
  reconcile: 'found out',
  'commit-deadline': 'rolled back',
  rollback: 'rolled back',
  compensation: 'undone',
  approval: 'given up',
}

function nextText({ next, state, error }: OpenEffect, now: number): string {
  if (next === undefined) {
    if (state === 'compensation-failed') return 'a person: compensate again, or undo by hand and settle'
    if (state === 'unknown' && error?.retryable === true) return 'the same key again settles it'
    return state === 'unknown' || state === 'commit-unknown' ? 'a person: settle' : '-'
  }
  const ms = Date.parse(next.at) - now
  return `${NEXT[next.kind] ?? next.kind} ${ms <= 0 ? 'now' : `in ${renderAge(ms)}`}`
}
