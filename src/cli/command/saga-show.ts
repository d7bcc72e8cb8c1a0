// writ saga show: a saga with what its members came to.
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { printResult, styleOf } from '../print.ts'
import { withProgress } from '../progress.ts'
import { EXIT_OF_SAGA, renderSaga } from '../saga-text.ts'

export const command = defineCommand({
  name: 'saga show',
  summary: 'Show a saga and its members',
  details: ['The exit code is 0 once it is completed, 9 once it is aborted, and 5 before.'],
  args: [{ name: 'id', description: 'The id of the saga.' }],
  flags: { ...OUTPUT_FLAG, ...SERVER_FLAGS },
  examples: [{ line: 'writ saga show trip-4711', does: 'How far it got' }],
  async run({ flags, args, terminal }) {
    const saga = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'asking for the saga', () => client.getSaga(args.id)),
    )
    await printResult(terminal, flags.output, saga, () => renderSaga(saga, styleOf(terminal)))
    return EXIT_OF_SAGA[saga.state]
  },
})
