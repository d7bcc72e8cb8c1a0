// writ token rotate: tokens are signed with a new key from now on.
import { resolve } from 'node:path'
import { CliError, EXIT, messageOf, usageError } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { printResult, renderFields } from '../print.ts'

export const command = defineCommand({
  name: 'token rotate',
  summary: 'Sign tokens with a new key',
  details: [
    'Tokens that the old key signed stay valid until they expire; after the longest of them, 30 days, the old key is dropped. Servers that share the file notice by themselves. Only the admin can ask.',
    'With --file the file is changed here, without a server, and made where there is none: for keys that are kept elsewhere and put beside the server by something else. It is then in no evidence.',
    'When a key may be known to others, rotate, and take the old key out of the file: every token that it signed is refused within a second.',
  ],
  args: [],
  flags: {
    file: {
      type: 'string',
      description: 'A file of keys to change or to make, without a server.',
      placeholder: 'FILE',
      completes: 'file',
    },
    ...OUTPUT_FLAG,
    data: SERVER_FLAGS.data,
  },
  examples: [
    { line: 'writ token rotate', does: 'On the server' },
    { line: 'writ token rotate --file token-keys.json', does: 'Make or change a file of keys' },
  ],
  async run({ flags, terminal }) {
    const { file, data } = flags
    if (file !== undefined && data !== undefined)
      throw usageError('--file needs no --data', 'give one of the two')
    const rotated =
      file === undefined
        ? await withClient(terminal, { data, namespace: undefined }, (client) => client.rotateTokenKey())
        : await rotateFile(resolve(terminal.cwd, file), terminal.clock.now())
    await printResult(terminal, flags.output, rotated, () =>
      renderFields([
        ['Key', rotated.key_id],
        ['Dropped', rotated.dropped.join(', ') || undefined],
      ]),
    )
    return EXIT.ok
  },
})

async function rotateFile(path: string, now: number) {
  const { rotateKeyFile } = await import('../../identity/key-file.ts')
  try {
    const { kid, dropped } = rotateKeyFile(path, now)
    return { key_id: kid, dropped }
  } catch (error) {
    const [message = '', fix] = messageOf(error).split('. Fix: ')
    throw new CliError(message, { exit: EXIT.failed, ...(fix === undefined ? {} : { fix }) })
  }
}
