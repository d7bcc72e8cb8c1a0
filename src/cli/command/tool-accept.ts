// writ tool accept: takes on what an MCP server has made of a tool, once it was shown.
import { CliError, EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { renderDefinition } from '../definition-text.ts'
import { printResult } from '../print.ts'
import { namingMcpTool } from '../suggest-tool.ts'

export const command = defineCommand({
  name: 'tool accept',
  summary: 'Take on what an MCP server has changed of a tool',
  details: [
    'Shows the change and, without --yes or --digest, leaves it at that. With --digest it accepts what was shown under that digest, and nothing newer. Approvals and grants of the tool before do not hold for it. Needs mcp:write.',
  ],
  args: [{ name: 'name', description: 'The name of the tool.' }],
  flags: {
    digest: {
      type: 'string',
      description: 'Of the offered definition that was looked at.',
      placeholder: 'sha256:...',
    },
    yes: { type: 'boolean', description: 'Accept what is offered now.' },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    { line: 'writ tool accept files--read-file', does: 'The change, and how to accept it' },
    { line: 'writ tool accept files--read-file --yes', does: 'Show the change, and accept it' },
  ],
  async run({ flags, args, terminal }) {
    const { name } = args
    return withClient(terminal, flags, async (client) => {
      const before = await namingMcpTool(client, name, () => client.getToolDefinition(name))
      const { offered } = before
      if (offered === undefined) {
        throw new CliError(`the tool '${name}' is not quarantined`, {
          exit: EXIT.failed,
          fix: 'there is nothing to accept',
        })
      }
      const digest = flags.digest ?? (flags.yes === true ? offered.digest : undefined)
      if (digest === undefined) {
        await printResult(terminal, flags.output, before, () => renderDefinition(before))
        throw new CliError('nothing was accepted', {
          exit: EXIT.failed,
          fix: `writ tool accept ${name} --digest ${offered.digest}`,
        })
      }
      if (flags.output === 'table') terminal.err(renderDefinition(before))
      const reply = await namingMcpTool(client, name, () => client.acceptToolDefinition(name, digest))
      await printResult(terminal, flags.output, reply, () => renderDefinition(reply))
      return EXIT.ok
    })
  },
})
