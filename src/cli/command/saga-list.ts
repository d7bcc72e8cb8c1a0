// writ saga list: the sagas a server knows.
import type { SagaSummary } from '../../client/effects.ts'
import { SAGA_STATES } from '../../contract/saga.ts'
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { PAGE_FLAGS, printPage, readPage } from '../paging.ts'
import { type Column, renderAge } from '../print.ts'
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
    ...PAGE_FLAGS,
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [{ line: 'writ saga list --state blocked', does: 'Those that a person has to look at' }],
  async run({ flags, terminal }) {
    const { state } = flags
    const wanted = readPage(flags)
    const page = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'asking for the sagas', () =>
        client.listSagas({
          ...wanted,
          ...(state === undefined ? {} : { state }),
        }),
      ),
    )
    await printPage(terminal, flags.output, page, { rows: page.sagas, columns, none: 'No sagas.' })
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
