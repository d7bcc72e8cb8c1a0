// writ calls compensate: undoes an effect that happened (S29).
import { actOnCall, undoText } from '../act-on-call.ts'
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'

export const command = defineCommand({
  name: 'calls compensate',
  summary: 'Undo an effect that happened',
  details: [
    'One that cannot be undone by a call can be undone by hand: writ calls settle with --as undone says so.',
    'With the operation or the tool that the effect declares for it, in your own name and through the same checks as every call. While it goes on the exit code is 5.',
  ],
  args: [{ name: 'id', description: "Writ's own id of the call." }],
  flags: { ...OUTPUT_FLAG, ...SERVER_FLAGS },
  examples: [{ line: 'writ calls compensate 0193a1b2-0000-7000-8000-000000000000', does: 'Undo one call' }],
  async run({ flags, args, terminal }) {
    const { goesOn } = await actOnCall(terminal, {
      id: args.id,
      doing: 'undoing',
      format: flags.output,
      server: flags,
      ask: (client) => client.compensateCall(args.id),
      fix: ({ failure }) => (failure === 'compensation-failed' ? undoText(args.id) : undefined),
      sentence: (reply) => (reply.goesOn ? `is being undone. See: writ calls ${reply.call.id}` : 'is undone'),
    })
    return goesOn ? EXIT.waiting : EXIT.ok
  },
})
