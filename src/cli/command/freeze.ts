// writ freeze: the kill switch. Nothing that is claimed afterwards is sent, on any replica.
import { FREEZABLE } from '../../contract/freeze.ts'
import { EXIT, usageError } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { freezeText, readFreezeTarget } from '../freeze-target.ts'
import { clean, printResult } from '../print.ts'
import { withProgress } from '../progress.ts'
import { unknownTool } from '../suggest-tool.ts'

export const command = defineCommand({
  name: 'freeze',
  summary: 'Stop a tool, a caller, a namespace or everything',
  details: [
    'No write that is claimed afterwards is sent, on any replica; reads stop within a second. Calls under way finish, or with --in-flight end are ended where they stand. It holds until writ thaw, and is kept in evidence with who did it and why.',
  ],
  args: [
    { name: 'what', description: 'What to stop.', values: FREEZABLE },
    { name: 'name', description: 'Of the tool or the caller.', optional: true },
  ],
  flags: {
    reason: { type: 'string', description: 'Why; callers are told, and it is kept.', placeholder: 'TEXT' },
    'in-flight': {
      type: 'string',
      values: ['finish', 'end'],
      default: 'finish',
      description: 'What becomes of calls under way.',
      placeholder: 'HOW',
    },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    { line: `writ freeze tool pay --reason 'wrong amounts since noon'`, does: 'Stop one tool' },
    {
      line: `writ freeze caller agent-7 --reason 'talks to itself' --in-flight end`,
      does: 'Stop one caller, and what it has under way',
    },
    { line: `writ freeze all --reason 'incident 12'`, does: 'Stop everything' },
  ],
  async run({ flags, args, terminal }) {
    const target = readFreezeTarget('freeze', args.what, args.name)
    const { reason, 'in-flight': inFlight } = flags
    if (reason === undefined) throw usageError('--reason is missing', 'say why, with --reason TEXT')
    const { frozen, doubt } = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'freezing', async () => ({
        frozen: await client.freeze(target, { reason, inFlight: inFlight === 'end' ? 'end' : 'finish' }),
        doubt: target.what === 'tool' ? await unknownTool(client, target.name) : undefined,
      })),
    )
    await printResult(
      terminal,
      flags.output,
      frozen,
      () => `${clean(freezeText(target, frozen.namespace))} is frozen\n`,
    )
    // It holds for a tool that comes later, too; but whoever is in a hurry may have meant another one.
    if (doubt !== undefined) terminal.err(`writ: ${clean(doubt)}\n`)
    return EXIT.ok
  },
})
