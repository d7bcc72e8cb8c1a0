// writ calls rollback: gives a prepared effect up.
import { actOnCall } from '../act-on-call.ts'
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'

export const command = defineCommand({
  name: 'calls rollback',
  summary: 'Give a prepared effect up',
  details: ['The tool is asked until it acknowledges, also after a restart; meanwhile the exit code is 5.'],
  args: [{ name: 'id', description: "Writ's own id of the call." }],
  flags: { ...OUTPUT_FLAG, ...SERVER_FLAGS },
  examples: [{ line: 'writ calls rollback 0193a1b2-0000-7000-8000-000000000000', does: 'Give one call up' }],
  async run({ flags, args, terminal }) {
    const { goesOn } = await actOnCall(terminal, {
      id: args.id,
      doing: 'rolling back',
      format: flags.output,
      server: flags,
      ask: (client) => client.rollbackCall(args.id),
      fix: ({ details }) =>
        details.effect_state === 'committed'
          ? `it is committed; to undo it: writ calls compensate ${args.id}`
          : undefined,
      sentence: (reply) =>
        reply.goesOn ? `is being rolled back. See: writ calls ${reply.call.id}` : 'is rolled back',
    })
    return goesOn ? EXIT.waiting : EXIT.ok
  },
})
