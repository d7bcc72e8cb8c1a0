// writ secret list: which secrets a server keeps, and under which keys. Never their values.
import { kindNamed } from '../../resource/kinds.ts'
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { printResult, renderTable, styleOf } from '../print.ts'
import { columnsOf } from '../resource-text.ts'

export const command = defineCommand({
  name: 'secret list',
  summary: 'List secrets, without their values',
  details: ['Those that the store keeps. What other providers have is theirs to list. Needs resource:read.'],
  args: [],
  flags: { ...OUTPUT_FLAG, ...SERVER_FLAGS },
  examples: [{ line: 'writ secret list', does: 'Names and keys' }],
  async run({ flags, terminal }) {
    const found = await withClient(terminal, flags, (client) => client.listResources('secrets'))
    const kind = kindNamed('Secret')
    const columns = kind === undefined ? [] : columnsOf(kind.name, terminal.clock.now())
    await printResult(terminal, flags.output, found, () =>
      renderTable(found, columns, styleOf(terminal), "No secrets. Keep one: 'writ secret set NAME'"),
    )
    return EXIT.ok
  },
})
