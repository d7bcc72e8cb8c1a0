// writ secret rotate-key: the keys of all secrets are wrapped by a new master key from now on.
import { CliError, EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { clean, printResult, renderFields } from '../print.ts'
import { withProgress } from '../progress.ts'

export const command = defineCommand({
  name: 'secret rotate-key',
  summary: 'Wrap the keys of all secrets with a new master key',
  details: [
    'Where the master key is a file that the server may write, a new key is put on its first line; else the newest of the source is taken, and whoever keeps the source puts one there before. Calls go on meanwhile, and no value changes. Old keys are needed until this has ended, and for backups made before. Only the admin can ask.',
  ],
  args: [],
  flags: { ...OUTPUT_FLAG, data: SERVER_FLAGS.data },
  examples: [{ line: 'writ secret rotate-key', does: 'A new master key' }],
  async run({ flags, terminal }) {
    const choice = { data: flags.data, namespace: undefined }
    const done = await withClient(terminal, choice, (client) =>
      withProgress(terminal, 'wrapping keys anew', () => client.rotateSecretKey()),
    )
    await printResult(terminal, flags.output, done, () =>
      renderFields([
        ['Key', `${done.key_id}${done.added ? ', new' : ', as the source has it'}`],
        ['Rewrapped', String(done.rewrapped)],
        ['No longer needed', done.unused.join(', ') || undefined],
      ]),
    )
    for (const { why } of done.unopened) terminal.err(`writ: ${clean(why)}\n`)
    if (done.left === 0 && done.unopened.length === 0) return EXIT.ok
    throw new CliError(
      `${done.left + done.unopened.length} secrets still need an older master key; keep it`,
      done.left > 0
        ? { exit: EXIT.retryable, fix: 'ask again' }
        : { exit: EXIT.failed, fix: 'apply those anew with all their values, or delete them' },
    )
  },
})
