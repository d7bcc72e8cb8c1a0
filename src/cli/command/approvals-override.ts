// writ approvals override: a denial no longer counts for its key.
import { EXIT, usageError } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { clean, printResult } from '../print.ts'
import { withProgress } from '../progress.ts'

export const command = defineCommand({
  name: 'approvals override',
  summary: 'Let a denial no longer count',
  details: [
    'The denial stays on record, with a new record that is linked to it. The caller may ask again with the same key, and people are asked anew. Needs approval:override.',
  ],
  args: [{ name: 'id', description: 'The id of the approval that was denied.' }],
  flags: {
    reason: { type: 'string', description: 'Why; it is kept in evidence.', placeholder: 'TEXT' },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    {
      line: `writ approvals override 0193a1b2-0000-7000-8000-000000000000 --reason 'denied by mistake'`,
      does: 'It may be asked for again',
    },
  ],
  async run({ flags, args, terminal }) {
    const { reason } = flags
    if (reason === undefined) throw usageError('--reason is missing', 'say why, with --reason TEXT')
    const approval = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'overriding', () => client.overrideDenial(args.id, { reason })),
    )
    await printResult(
      terminal,
      flags.output,
      approval,
      () => `${clean(`${approval.id} is overridden: the call may be asked for again`)}\n`,
    )
    return EXIT.ok
  },
})
