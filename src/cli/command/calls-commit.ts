// writ calls commit: makes a prepared effect happen.
import { readResource } from '../../client/call-reply.ts'
import { exitCodeOf } from '../../contract/projection.ts'
import { actOnCall } from '../act-on-call.ts'
import { usageError } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import type { Terminal } from '../terminal.ts'

/** No token is as long; what is, is another file. */
const MAX_TOKEN_BYTES = 64 * 1024

export const command = defineCommand({
  name: 'calls commit',
  summary: 'Make a prepared effect happen',
  details: [
    'The output of the tool goes to stdout, as with writ call; how it ended goes to stderr.',
    'The token is the commit_token of the prepared call. Only the caller that prepared it can commit, once, and in time: what is not committed by then is rolled back.',
    'A commit without a definite answer (exit 8) is never sent blindly again: the tool is asked where it can be, else a person settles it.',
  ],
  args: [{ name: 'id', description: "Writ's own id of the call." }],
  flags: {
    token: {
      type: 'string',
      description: 'The commit token; - reads it from standard input, where others cannot see it.',
      placeholder: 'TOKEN',
    },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    {
      line: 'writ calls commit 0193a1b2-0000-7000-8000-000000000000 --token - < token.txt',
      does: 'Commit with a token from a file',
    },
  ],
  async run({ flags, args, terminal }) {
    const token = await readToken(terminal, flags.token)
    const { call } = await actOnCall(terminal, {
      id: args.id,
      doing: 'committing',
      format: flags.output,
      server: flags,
      ask: (client) => client.commitCall(args.id, token),
      printsOutput: true,
      sentence: ({ goesOn, call: { id, state } }) =>
        goesOn ? `is ${state}; it goes on. See: writ calls ${id}` : `is committed: ${state}`,
    })
    return exitCodeOf(readResource(call))
  },
})

async function readToken(terminal: Terminal, flag: string | undefined): Promise<string> {
  const text = flag === '-' ? Buffer.from(await terminal.readIn(MAX_TOKEN_BYTES)).toString('utf8') : flag
  const token = text?.trim() ?? ''
  if (token !== '') return token
  throw usageError(
    flag === '-' ? 'there is no token on standard input' : 'the commit token is missing',
    'give the commit_token of the prepared call with --token, or on standard input with --token -',
  )
}
