// writ thaw: lifts a freeze.
import { FREEZABLE } from '../../contract/freeze.ts'
import { EXIT, usageError } from '../cli-error.ts'
import { defineCommand, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { freezeText, readFreezeTarget } from '../freeze-target.ts'
import { clean } from '../print.ts'
import { withProgress } from '../progress.ts'

export const command = defineCommand({
  name: 'thaw',
  summary: 'Lift a freeze',
  details: [
    'Only the freeze that is named: a tool stays stopped while its namespace is frozen. What was refused meanwhile is not run by itself.',
  ],
  args: [
    { name: 'what', description: 'What was stopped.', values: FREEZABLE },
    { name: 'name', description: 'Of the tool or the caller.', optional: true },
  ],
  flags: {
    reason: { type: 'string', description: 'Why; it is kept in evidence.', placeholder: 'TEXT' },
    ...SERVER_FLAGS,
  },
  examples: [{ line: `writ thaw tool pay --reason 'fixed in 1.2.1'`, does: 'Let it run again' }],
  async run({ flags, args, terminal }) {
    const target = readFreezeTarget('thaw', args.what, args.name)
    const { reason } = flags
    if (reason === undefined) throw usageError('--reason is missing', 'say why, with --reason TEXT')
    await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'thawing', () => client.thaw(target, { reason })),
    )
    terminal.out(`${clean(freezeText(target, flags.namespace))} is thawed\n`)
    return EXIT.ok
  },
})
