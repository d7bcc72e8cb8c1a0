// writ calls settle: a person says whether an unknown effect happened (S28).
import type { ActionReply, Verdict } from '../../client/effects.ts'
import { actOnCall, undoText } from '../act-on-call.ts'
import { EXIT, usageError } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { parseInput } from '../read-input.ts'

export const command = defineCommand({
  name: 'calls settle',
  summary: 'Say whether an unknown effect happened, or that one was undone by hand',
  details: [
    'Find out at the tool first: what is said here is believed. With done the call has succeeded; with not-done it has failed, and the next call with its key sends again. The reason is kept in evidence.',
    'With undone an effect whose compensation has failed counts as compensated: nothing is sent.',
  ],
  args: [{ name: 'id', description: "Writ's own id of the call." }],
  flags: {
    as: {
      type: 'string',
      values: ['done', 'not-done', 'undone'],
      description: 'Whether it happened; undone: it could not be undone by a call, and was by hand.',
      placeholder: 'WHAT',
    },
    reason: { type: 'string', description: 'How you know; it is kept in evidence.', placeholder: 'TEXT' },
    output: {
      type: 'string',
      description: 'What the call would have returned, as JSON; only with --as done.',
      placeholder: 'JSON',
    },
    format: OUTPUT_FLAG.output,
    ...SERVER_FLAGS,
  },
  examples: [
    {
      line: `writ calls settle 0193a1b2-0000-7000-8000-000000000000 --as done --reason 'seen in the bank statement'`,
      does: 'It happened',
    },
    {
      line: `writ calls settle 0193a1b2-0000-7000-8000-000000000000 --as not-done --reason 'no trace in the outbox'`,
      does: 'It did not, and may be sent again',
    },
  ],
  async run({ flags, args, terminal }) {
    const { as, reason } = flags
    if (as === undefined) throw usageError('--as is missing', 'give --as done, --as not-done or --as undone')
    if (reason === undefined) throw usageError('--reason is missing', 'say how you know, with --reason TEXT')
    if (as !== 'done' && flags.output !== undefined)
      throw usageError('--output belongs to --as done', 'leave it out')
    const output = flags.output === undefined ? undefined : parseInput('--output', flags.output)
    const { goesOn } = await actOnCall(terminal, {
      id: args.id,
      doing: 'settling',
      format: flags.format,
      server: flags,
      ask: (client) =>
        client.settleCall(args.id, { as, reason, ...(output === undefined ? {} : { output }) }),
      sentence: (reply) => settledText(as, reply),
      fix: ({ failure, details }) =>
        failure === 'not-unknown' && details.effect_state === 'compensation-failed'
          ? undoText(args.id)
          : undefined,
    })
    return goesOn ? EXIT.waiting : EXIT.ok
  },
})

/** What the next call with the same key meets. */
const KEY: Readonly<Record<'done' | 'not-done', string>> = {
  done: 'its key is now answered from the ledger',
  'not-done': 'the next call with its key sends again',
}

function settledText(as: Verdict['as'], { call }: ActionReply): string {
  if (as === 'undone') return 'is settled as undone'
  // An outcome never changes: what was told as over stays as it was told.
  const keeps = call.final && call.effect === 'unknown'
  return keeps
    ? `keeps its answer, ${call.state}; the effect is settled as ${as}, and ${KEY[as]}`
    : `is settled as ${as}: ${call.state}`
}
