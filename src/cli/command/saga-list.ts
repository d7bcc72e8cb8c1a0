// writ saga list: the sagas a server knows.
import type { SagaSummary } from '../../client/effects.ts'
import { SAGA_STATES } from '../../contract/saga.ts'
import { EXIT, usageError } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { type Column, printResult, renderAge, renderTable, styleOf } from '../print.ts'
import { withProgress } from '../progress.ts'

export const command = defineCommand({
  name: 'saga list',
  summary: 'List sagas',
  details: [
    'The highest id first; ids that Writ makes sort by time. One that is blocked waits for a person: REASON says why.',
  ],
  args: [],
  flags: {
    state: {
      type: 'string',
      values: SAGA_STATES,
      description: 'Only sagas in this state.',
      placeholder: 'STATE',
    },
    limit: { type: 'integer', default: 20, description: 'At most so many, up to 200.' },
    cursor: { type: 'string', description: 'Go on where the last page ended.', placeholder: 'CURSOR' },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [{ line: 'writ saga list --state blocked', does: 'Those that a person has to look at' }],
  async run({ flags, terminal }) {
    const { limit, cursor, state } = flags
    if (limit < 1 || limit > 200)
      throw usageError(`--limit is ${limit}, but must be from 1 to 200`, 'use --cursor for more')
    const page = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'asking for the sagas', () =>
        client.listSagas({
          limit,
          ...(state === undefined ? {} : { state }),
          ...(cursor === undefined ? {} : { cursor }),
        }),
      ),
    )
    const now = terminal.clock.now()
    await printResult(terminal, flags.output, page, () =>
      renderTable(page.sagas, columns(now), styleOf(terminal), 'No sagas.'),
    )
    if (flags.output === 'table' && page.next_cursor !== null)
      terminal.err(`More: --cursor ${page.next_cursor}\n`)
    return EXIT.ok
  },
})

function columns(now: number): readonly Column<SagaSummary>[] {
  return [
    { title: 'ID', value: ({ id }) => id },
    { title: 'STATE', value: ({ state }) => state },
    { title: 'ACTOR', value: ({ actor }) => actor },
    { title: 'AGE', value: ({ created_at }) => renderAge(now - Date.parse(created_at)) },
    { title: 'REASON', value: ({ reason }) => reason ?? '-' },
  ]
}
