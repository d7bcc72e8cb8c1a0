// writ grant create: agrees to a bounded class of calls beforehand.
import { formatDuration } from '../../util/duration.ts'
import { EXIT, usageError } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { conditionText } from '../grant-text.ts'
import { clean, printResult } from '../print.ts'
import { withProgress } from '../progress.ts'
import { readCondition } from '../read-condition.ts'
import { namingTool } from '../suggest-tool.ts'

export const command = defineCommand({
  name: 'grant create',
  summary: 'Agree to a class of calls beforehand',
  details: [
    'Calls that it covers do not wait for approval. It is for one tool in the build that is live now, for a time, and where you say so for some inputs, one caller and a number of uses. It never covers your own calls, escalations, the undoing of effects, or a repeated effect. Each use is in evidence.',
  ],
  args: [],
  flags: {
    tool: { type: 'string', description: 'The tool.', placeholder: 'NAME' },
    operation: {
      type: 'string',
      description: "One operation of it. Default: the tool's own.",
      placeholder: 'NAME',
    },
    where: {
      type: 'string',
      multiple: true,
      description:
        "A condition on the input, such as '/amount<50'; all have to hold. One that cannot be judged does not hold.",
      placeholder: 'CONDITION',
    },
    for: { type: 'duration', description: 'How long it holds.', placeholder: 'DURATION' },
    'max-uses': { type: 'integer', description: 'At most so many calls.' },
    caller: { type: 'string', description: 'Only calls of this actor.', placeholder: 'ACTOR' },
    role: {
      type: 'string',
      description: 'The role whose decision it stands for; you have to have it.',
      placeholder: 'NAME',
    },
    reason: { type: 'string', description: 'Why; it is kept in evidence.', placeholder: 'TEXT' },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    {
      line: `writ grant create --tool pay --where '/amount<50' --for 1h --max-uses 20`,
      does: 'Small payments need nobody for an hour',
    },
  ],
  async run({ flags, terminal }) {
    const { tool, operation, caller, role, reason, 'max-uses': maxUses } = flags
    if (tool === undefined) throw usageError('--tool is missing', 'name the tool, with --tool NAME')
    if (flags.for === undefined) throw usageError('--for is missing', 'say how long, such as --for 1h')
    const when = flags.where.map(readCondition)
    const ttl = formatDuration(flags.for)
    const grant = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'granting', () =>
        namingTool(client, tool, () =>
          client.makeGrant({
            tool,
            ttl,
            ...(when.length === 0 ? {} : { when }),
            ...(operation === undefined ? {} : { operation }),
            ...(caller === undefined ? {} : { caller }),
            ...(role === undefined ? {} : { role }),
            ...(reason === undefined ? {} : { reason }),
            ...(maxUses === undefined ? {} : { maxUses }),
          }),
        ),
      ),
    )
    await printResult(terminal, flags.output, grant, () => `${clean(grant.id)}\n`)
    if (flags.output === 'table') {
      const where = grant.when.length === 0 ? 'any input' : grant.when.map(conditionText).join(' and ')
      terminal.err(
        `${clean(`Until ${grant.expires_at}: ${grant.tool.name} ${grant.tool.operation}, ${where}`)}\n`,
      )
    }
    return EXIT.ok
  },
})
