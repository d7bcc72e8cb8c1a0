// writ saga open: begins a saga.
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { clean, printResult } from '../print.ts'
import { withProgress } from '../progress.ts'

export const command = defineCommand({
  name: 'saga open',
  summary: 'Open a saga',
  details: [
    'Calls that name its id stand or fall together: when one of them fails for good, or the saga is aborted, what the others did is undone, the last one first. Prints the id.',
  ],
  args: [{ name: 'id', description: 'An id of your own; a new one when absent.', optional: true }],
  flags: { ...OUTPUT_FLAG, ...SERVER_FLAGS },
  examples: [{ line: 'id=$(writ saga open)', does: 'Keep the id for the calls to come' }],
  async run({ flags, args, terminal }) {
    const saga = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'opening a saga', () => client.openSaga(args.id)),
    )
    await printResult(terminal, flags.output, saga, () => `${clean(saga.id)}\n`)
    return EXIT.ok
  },
})
