// writ tool diff: what an MCP server has made of a tool since it was taken on.
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { renderDefinition } from '../definition-text.ts'
import { printResult } from '../print.ts'
import { namingMcpTool } from '../suggest-tool.ts'

export const command = defineCommand({
  name: 'tool diff',
  summary: 'Show what an MCP server has changed of a tool',
  details: ['A tool whose definition changed is quarantined: calls are refused. Needs resource:read.'],
  args: [{ name: 'name', description: 'The name of the tool.' }],
  flags: { ...OUTPUT_FLAG, ...SERVER_FLAGS },
  examples: [{ line: 'writ tool diff files--read-file', does: 'What was taken on, against what is offered' }],
  async run({ flags, args, terminal }) {
    const reply = await withClient(terminal, flags, (client) =>
      namingMcpTool(client, args.name, () => client.getToolDefinition(args.name)),
    )
    await printResult(terminal, flags.output, reply, () => renderDefinition(reply))
    return EXIT.ok
  },
})
