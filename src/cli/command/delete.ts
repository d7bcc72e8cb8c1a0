// writ delete tool: takes a tool, or one version of it, away from a server.
import { EXIT } from '../cli-error.ts'
import { defineCommand, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { withProgress } from '../progress.ts'
import { namingTool } from '../suggest-tool.ts'

export const command = defineCommand({
  name: 'delete',
  summary: 'Delete a tool',
  details: ['Calls under way go on with the version they are pinned to.'],
  args: [
    { name: 'what', description: 'What to delete.', values: ['tool'] },
    { name: 'name', description: 'The name of the tool.' },
  ],
  flags: {
    version: {
      type: 'string',
      description: 'An exact version; every version when absent.',
      placeholder: 'VERSION',
    },
    ...SERVER_FLAGS,
  },
  examples: [{ line: 'writ delete tool weather --version 1.0.0', does: 'Delete one version' }],
  async run({ flags, args, terminal }) {
    const { version } = flags
    await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'deleting', () =>
        namingTool(client, args.name, () =>
          client.deleteTool(args.name, version === undefined ? {} : { version }),
        ),
      ),
    )
    terminal.out(`tool ${args.name}${version === undefined ? '' : ` ${version}`} deleted\n`)
    return EXIT.ok
  },
})
