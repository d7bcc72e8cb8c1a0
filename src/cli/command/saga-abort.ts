// writ saga abort: what the members of a saga did is undone, the last one first.
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { clean, printResult } from '../print.ts'
import { withProgress } from '../progress.ts'
import { waysOut } from '../saga-text.ts'

export const command = defineCommand({
  name: 'saga abort',
  summary: 'Abort a saga: undo what its members did',
  details: [
    'The last member is undone first. One whose effect is unknown, or that cannot be undone, blocks the saga until a person has decided; the exit code is then 5, as while it goes on.',
  ],
  args: [{ name: 'id', description: 'The id of the saga.' }],
  flags: {
    reason: {
      type: 'string',
      description: 'Why; it is kept in evidence. Default: that you asked for it.',
      placeholder: 'TEXT',
    },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    { line: `writ saga abort trip-4711 --reason 'the hotel is full'`, does: 'Undo what was booked' },
  ],
  async run({ flags, args, terminal }) {
    const saga = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'aborting the saga', () => client.abortSaga(args.id, flags.reason)),
    )
    const why = saga.state === 'blocked' && saga.reason !== undefined ? `: ${saga.reason}` : ''
    const more = saga.state === 'aborted' ? '' : `. See: writ saga show ${saga.id}`
    await printResult(
      terminal,
      flags.output,
      saga,
      () => `${clean(`${saga.id} is ${saga.state}${why}${more}`)}\n${waysOut(saga)}`,
    )
    return saga.state === 'aborted' ? EXIT.ok : EXIT.waiting
  },
})
