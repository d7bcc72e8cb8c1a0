// writ grant end: takes a grant back.
import { EXIT } from '../cli-error.ts'
import { defineCommand, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { clean } from '../print.ts'
import { withProgress } from '../progress.ts'

export const command = defineCommand({
  name: 'grant end',
  summary: 'Take a grant back',
  details: ['The next call that it would have covered waits for approval again.'],
  args: [{ name: 'id', description: 'The id of the grant.' }],
  flags: {
    reason: { type: 'string', description: 'Why; it is kept in evidence.', placeholder: 'TEXT' },
    ...SERVER_FLAGS,
  },
  examples: [{ line: 'writ grant end 0193a1b2-0000-7000-8000-000000000000', does: 'No longer' }],
  async run({ flags, args, terminal }) {
    const { reason } = flags
    await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'ending the grant', () =>
        client.endGrant(args.id, reason === undefined ? {} : { reason }),
      ),
    )
    terminal.out(`${clean(args.id)} is over\n`)
    return EXIT.ok
  },
})
