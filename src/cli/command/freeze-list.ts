// writ freeze list: what is stopped.
import type { FreezeResource } from '../../client/freezes.ts'
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { type Column, printResult, renderAge, renderTable, styleOf } from '../print.ts'
import { withProgress } from '../progress.ts'

export const command = defineCommand({
  name: 'freeze list',
  summary: 'List what is frozen',
  details: ['In this namespace, and everywhere.'],
  args: [],
  flags: { ...OUTPUT_FLAG, ...SERVER_FLAGS },
  examples: [{ line: 'writ freeze list', does: 'What is stopped, by whom and why' }],
  async run({ flags, terminal }) {
    const freezes = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'asking what is frozen', () => client.listFreezes()),
    )
    const now = terminal.clock.now()
    await printResult(terminal, flags.output, { freezes }, () =>
      renderTable(freezes, columns(now), styleOf(terminal), 'Nothing is frozen.'),
    )
    return EXIT.ok
  },
})

function columns(now: number): readonly Column<FreezeResource>[] {
  return [
    { title: 'WHAT', value: ({ what }) => what },
    { title: 'NAME', value: ({ name }) => name ?? '-' },
    { title: 'NAMESPACE', value: ({ namespace }) => namespace },
    { title: 'IN FLIGHT', value: ({ in_flight }) => in_flight },
    { title: 'BY', value: ({ by }) => by },
    { title: 'AGE', value: ({ at }) => renderAge(now - Date.parse(at)) },
    { title: 'REASON', value: ({ reason }) => reason },
  ]
}
