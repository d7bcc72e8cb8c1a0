// writ secret delete: takes a secret out of the store.
import { EXIT } from '../cli-error.ts'
import { defineCommand, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { clean } from '../print.ts'
import { namingResource } from '../suggest-tool.ts'

export const command = defineCommand({
  name: 'secret delete',
  summary: 'Delete a secret',
  details: [
    'The next call of a tool that names it fails, unless another provider has it. Backups still hold it, sealed. Needs secret:write.',
  ],
  args: [{ name: 'name', description: 'The secret.' }],
  flags: { ...SERVER_FLAGS },
  examples: [{ line: 'writ secret delete weather-api', does: 'Delete one' }],
  async run({ flags, args, terminal }) {
    await withClient(terminal, flags, (client) =>
      namingResource(client, 'secrets', args.name, () => client.deleteResource('secrets', args.name)),
    )
    terminal.out(`secret ${clean(args.name)} deleted\n`)
    return EXIT.ok
  },
})
