// writ approvals show: everything that somebody needs to know to decide one approval.
import { EXIT_OF_APPROVAL, renderApproval } from '../approval-text.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { printResult, styleOf } from '../print.ts'
import { withProgress } from '../progress.ts'

export const command = defineCommand({
  name: 'approvals show',
  summary: 'Show what an approval is about',
  details: [
    'Who asked for what, why somebody has to agree, who has decided, and the input with sensitive fields masked. For a write, what differs from the last call of this kind that was agreed to.',
    'The exit code is 5 while it waits, 0 once it was agreed to, 4 when it was refused, expired or is stale, and 9 when the call was canceled.',
  ],
  args: [{ name: 'id', description: 'The id of the approval.' }],
  flags: { ...OUTPUT_FLAG, ...SERVER_FLAGS },
  examples: [
    { line: 'writ approvals show 0193a1b2-0000-7000-8000-000000000000', does: 'Look before you decide' },
  ],
  async run({ flags, args, terminal }) {
    const approval = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'asking for the approval', () => client.getApproval(args.id)),
    )
    const now = terminal.clock.now()
    await printResult(terminal, flags.output, approval, () =>
      renderApproval(approval, now, styleOf(terminal)),
    )
    return EXIT_OF_APPROVAL[approval.state]
  },
})
