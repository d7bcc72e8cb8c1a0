// writ audit head: the newest signed checkpoint, to be kept somewhere else.
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { printResult, renderFields } from '../print.ts'
import { withProgress } from '../progress.ts'

export const command = defineCommand({
  name: 'audit head',
  summary: 'Show the signed head of the evidence',
  details: [
    'The head is a checkpoint: a signed statement of where all evidence ended. Keep it where nobody who can change the store can reach it. Later, with the head in hand, audit verify shows whether anything up to it was changed or is missing. Only the admin can ask.',
  ],
  args: [],
  flags: { ...OUTPUT_FLAG, data: SERVER_FLAGS.data },
  examples: [{ line: 'writ audit head -o json > head.json', does: 'Keep the head for a later audit verify' }],
  async run({ flags, terminal }) {
    const head = await withClient(terminal, { data: flags.data, namespace: undefined }, (client) =>
      withProgress(terminal, 'asking for the head', () => client.auditHead()),
    )
    await printResult(terminal, flags.output, head, () =>
      renderFields([
        ['Checkpoint', String(head.number)],
        ['Made', new Date(head.at).toISOString()],
        ['Hash', head.hash],
        ['Key', head.key_id],
        ['Public key', head.public_key],
      ]),
    )
    return EXIT.ok
  },
})
