// writ approve: agrees to one call.
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { clean, printResult } from '../print.ts'
import { withProgress } from '../progress.ts'

export const command = defineCommand({
  name: 'approve',
  summary: 'Agree to a call that waits for approval',
  details: [
    'It is agreed to exactly what was shown: another input, tool version or policy makes the approval stale. The call goes on by itself. Nobody approves what they asked for themselves.',
    'The exit code is 0 when all who are needed have agreed, and 5 when more have to.',
  ],
  args: [{ name: 'id', description: 'The id of the approval.' }],
  flags: {
    comment: { type: 'string', description: 'Kept with the decision and in evidence.', placeholder: 'TEXT' },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    {
      line: `writ approve 0193a1b2-0000-7000-8000-000000000000 --comment 'checked with the supplier'`,
      does: 'Let it run',
    },
  ],
  async run({ flags, args, terminal }) {
    const { comment } = flags
    const approval = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'approving', () =>
        client.approve(args.id, comment === undefined ? {} : { comment }),
      ),
    )
    const waits = approval.state === 'pending'
    const says = waits ? 'counts your decision and waits for more' : `is ${approval.state}`
    await printResult(terminal, flags.output, approval, () => `${clean(`${approval.id} ${says}`)}\n`)
    if (flags.output === 'table' && !waits)
      terminal.err(`The call goes on: writ calls ${clean(approval.call_id)} --wait 60s\n`)
    return waits ? EXIT.waiting : EXIT.ok
  },
})
