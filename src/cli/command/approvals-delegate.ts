// writ approvals delegate: somebody else decides in one's place.
import { EXIT, usageError } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { clean, printResult } from '../print.ts'
import { withProgress } from '../progress.ts'

export const command = defineCommand({
  name: 'approvals delegate',
  summary: 'Let somebody else decide an approval in your place',
  details: ['The delegate counts for you, so you cannot decide it as well. It is kept in evidence.'],
  args: [{ name: 'id', description: 'The id of the approval.' }],
  flags: {
    to: { type: 'string', description: 'The actor who decides.', placeholder: 'ACTOR' },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    { line: 'writ approvals delegate 0193a1b2-0000-7000-8000-000000000000 --to dana', does: 'Dana decides' },
  ],
  async run({ flags, args, terminal }) {
    const { to } = flags
    if (to === undefined) throw usageError('--to is missing', 'say who decides, with --to ACTOR')
    const approval = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'delegating', () => client.delegateApproval(args.id, { to })),
    )
    await printResult(
      terminal,
      flags.output,
      approval,
      () => `${clean(`${approval.id} may now be decided by ${to}`)}\n`,
    )
    return EXIT.ok
  },
})
