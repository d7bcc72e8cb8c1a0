// writ cancel: asks a server to end a call.
import { exitCodeOf } from '../../contract/projection.ts'
import type { CallResource } from '../../contract/schema/call-resource.ts'
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
    'A call that is open and does not run, such as one whose effect is unknown, is shown as it is; the exit code is then that of its state.',
  ],
  args: [{ name: 'id', description: "Writ's own id of the call." }],
  flags: { ...OUTPUT_FLAG, ...SERVER_FLAGS },
  examples: [{ line: 'writ cancel 0193a1b2-0000-7000-8000-000000000000', does: 'Cancel one call' }],
  async run({ flags, args, terminal }) {
    const { canceling, call } = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'canceling', () => client.cancelCall(args.id)),
    )
    await printResult(terminal, flags.output, call, () => `${call.id} ${sentence(canceling, call)}\n`)
    return canceling || call.final ? EXIT.ok : exitCodeOf({ state: call.state })
  },
})

function sentence(canceling: boolean, { id, state, final }: CallResource): string {
  if (!canceling && final) return `had already ended: ${state}`
  if (!canceling) return `does not run, so there is nothing to cancel; it is open: ${state}`
  return final ? `is ${state}` : `is being canceled; it is ${state} now. See: writ calls ${id}`
}
