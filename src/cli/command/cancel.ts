// writ cancel: asks a server to end a call.
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { printResult } from '../print.ts'
import { withProgress } from '../progress.ts'

export const command = defineCommand({
  name: 'cancel',
  summary: 'Cancel a call',
  details: [
    'Before anything was sent the call ends as canceled. After that it is canceled only if the tool confirms or only reads; else its effect is unknown.',
  ],
  args: [{ name: 'id', description: "Writ's own id of the call." }],
  flags: { ...OUTPUT_FLAG, ...SERVER_FLAGS },
  examples: [{ line: 'writ cancel 0193a1b2-0000-7000-8000-000000000000', does: 'Cancel one call' }],
  async run({ flags, args, terminal }) {
    const { canceling, call } = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'canceling', () => client.cancelCall(args.id)),
    )
    await printResult(terminal, flags.output, call, () =>
      canceling
        ? `${call.id} is being canceled; it is ${call.state} now. See: writ calls ${call.id}\n`
        : `${call.id} had already ended: ${call.state}\n`,
    )
    return EXIT.ok
  },
})
