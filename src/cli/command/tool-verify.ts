// writ tool verify: sends one key twice, and says whether the tool keeps what it declares about repeats.
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { printResult, renderFields } from '../print.ts'
import { withProgress } from '../progress.ts'
import { INPUT_FLAGS, readInput } from '../read-input.ts'

export const command = defineCommand({
  name: 'tool verify',
  summary: 'Try whether a tool keeps what it declares about repeats',
  details: [
    'Sends the same input with the same key twice, compares what comes back, and keeps the verdict in evidence. A tool with effects is only tried with --accept: one real effect is then meant, and a tool that does not keep its word has two.',
    'The exit code is 0 when it is verified and 7 when it is refuted.',
  ],
  args: [{ name: 'name', description: 'The name of the tool.' }],
  flags: {
    ...INPUT_FLAGS,
    version: {
      type: 'string',
      description: 'A semver range; the highest live version when absent.',
      placeholder: 'RANGE',
    },
    operation: {
      type: 'string',
      description: "The operation of the tool. Default: the tool's own.",
      placeholder: 'NAME',
    },
    accept: { type: 'boolean', description: 'One real effect is meant.' },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    {
      line: `writ tool verify transfer --input '{"to": "test", "amount": 1}' --accept`,
      does: 'One transfer to a test account, sent twice',
    },
  ],
  async run({ flags, args, terminal }) {
    const input = await readInput(terminal, flags, false)
    const { version, operation, accept } = flags
    const reply = await withClient(terminal, flags, (client) =>
      withProgress(terminal, `verifying ${args.name}`, () =>
        client.verifyTool(args.name, {
          accept,
          ...(version === undefined ? {} : { version }),
          ...(operation === undefined ? {} : { operation }),
          ...(input === undefined ? {} : { input }),
        }),
      ),
    )
    await printResult(terminal, flags.output, reply, () =>
      renderFields([
        ['Verdict', reply.verdict],
        ['Tool', `${reply.tool} ${reply.version}`],
        ['Digest', reply.digest],
        ['Declared', reply.declared],
        ['Seen', reply.detail],
        ['Call', reply.call_id],
      ]),
    )
    return reply.verdict === 'verified' ? EXIT.ok : EXIT.failed
  },
})
