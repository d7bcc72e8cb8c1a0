// writ grant list: the classes of calls that somebody has agreed to beforehand.
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { grantColumns } from '../grant-text.ts'
import { printResult, renderTable, styleOf } from '../print.ts'
import { withProgress } from '../progress.ts'

export const command = defineCommand({
  name: 'grant list',
  summary: 'List grants',
  details: ['Those that hold now.'],
  args: [],
  flags: { ...OUTPUT_FLAG, ...SERVER_FLAGS },
  examples: [{ line: 'writ grant list', does: 'What needs nobody at the moment' }],
  async run({ flags, terminal }) {
    const grants = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'asking for the grants', () => client.listGrants()),
    )
    const now = terminal.clock.now()
    await printResult(terminal, flags.output, { grants }, () =>
      renderTable(grants, grantColumns(now), styleOf(terminal), 'No grants.'),
    )
    return EXIT.ok
  },
})
