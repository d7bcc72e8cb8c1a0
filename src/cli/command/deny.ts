// writ deny: refuses one call.
import { EXIT, usageError } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { clean, printResult } from '../print.ts'
import { withProgress } from '../progress.ts'

export const command = defineCommand({
  name: 'deny',
  summary: 'Refuse a call that waits for approval',
  details: ['One refusal is enough. The caller is told the reason, and its key keeps being answered so.'],
  args: [{ name: 'id', description: 'The id of the approval.' }],
  flags: {
    reason: {
      type: 'string',
      description: 'Why; told to the caller and kept in evidence.',
      placeholder: 'TEXT',
    },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    {
      line: `writ deny 0193a1b2-0000-7000-8000-000000000000 --reason 'not our supplier'`,
      does: 'It does not run',
    },
  ],
  async run({ flags, args, terminal }) {
    const { reason } = flags
    if (reason === undefined) throw usageError('--reason is missing', 'say why, with --reason TEXT')
    const approval = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'denying', () => client.deny(args.id, { reason })),
    )
    await printResult(
      terminal,
      flags.output,
      approval,
      () => `${clean(`${approval.id} is ${approval.state}`)}\n`,
    )
    return EXIT.ok
  },
})
