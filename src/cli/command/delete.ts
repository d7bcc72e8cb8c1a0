// writ delete: takes a resource, or one version of a tool, away from a server.
import { EXIT } from '../cli-error.ts'
import { defineCommand, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { KIND_WORDS, kindOf, wordOf } from '../kind-arg.ts'
import { withProgress } from '../progress.ts'
import { namingResource } from '../suggest-tool.ts'
import { refuseVersion } from '../version-flag.ts'

export const command = defineCommand({
  name: 'delete',
  summary: 'Delete a tool, role, permission, policy, secret or MCP server',
  details: [
    'Calls under way go on with the version of the tool that they are pinned to. A role that something else names is not deleted.',
  ],
  args: [
    { name: 'what', description: 'What to delete.', ...KIND_WORDS },
    { name: 'name', description: 'Its name.' },
  ],
  flags: {
    version: {
      type: 'string',
      description: 'Of a tool: an exact version; every version when absent.',
      placeholder: 'VERSION',
    },
    ...SERVER_FLAGS,
  },
  examples: [
    { line: 'writ delete tool weather --version 1.0.0', does: 'Delete one version' },
    { line: 'writ delete policy night-shift', does: 'Delete a policy' },
  ],
  async run({ flags, args, terminal }) {
    const { version } = flags
    const kind = kindOf(args.what)
    refuseVersion(kind, version)
    await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'deleting', () =>
        namingResource(client, kind.plural, args.name, () =>
          client.deleteResource(kind.plural, args.name, version === undefined ? {} : { version }),
        ),
      ),
    )
    terminal.out(`${wordOf(kind)} ${args.name}${version === undefined ? '' : ` ${version}`} deleted\n`)
    return EXIT.ok
  },
})
