// writ saga complete: what the members of a saga did stays.
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { clean, printResult } from '../print.ts'
import { withProgress } from '../progress.ts'

export const command = defineCommand({
  name: 'saga complete',
  summary: 'Complete a saga',
  details: ['What its members did stays, and no more calls join.'],
  args: [{ name: 'id', description: 'The id of the saga.' }],
  flags: { ...OUTPUT_FLAG, ...SERVER_FLAGS },
  examples: [{ line: 'writ saga complete trip-4711', does: 'All went well' }],
  async run({ flags, args, terminal }) {
    const saga = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'completing the saga', () => client.completeSaga(args.id)),
    )
    await printResult(terminal, flags.output, saga, () => `${clean(saga.id)} is ${saga.state}\n`)
    return EXIT.ok
  },
})
