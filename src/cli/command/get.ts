// writ get: what a server has, of every kind.
import { CliError, EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { KIND_WORDS, kindOf, wordOf } from '../kind-arg.ts'
import { printResult, renderDocuments, renderTable, styleOf } from '../print.ts'
import { withProgress } from '../progress.ts'
import { columnsOf } from '../resource-text.ts'
import { suggestion } from '../suggest-tool.ts'

export const command = defineCommand({
  name: 'get',
  summary: 'List tools, roles, permissions, policies, secrets or MCP servers',
  details: [
    "With -o yaml the result is manifests, as 'writ apply -f -' takes them; with -o json it is one list of them. A tool of the server's own program has no manifest, and cannot be applied.",
  ],
  args: [
    { name: 'what', description: 'What to list.', ...KIND_WORDS },
    { name: 'name', description: 'Only this one; of a tool, all its versions.', optional: true },
  ],
  flags: { ...OUTPUT_FLAG, ...SERVER_FLAGS },
  examples: [
    { line: 'writ get tools', does: 'Every version of every tool' },
    { line: 'writ get roles', does: 'Every role' },
    {
      line: 'writ get tools weather -o yaml > weather.yaml',
      does: 'Every version of one tool as manifests that can be applied again',
    },
    {
      line: `writ get tools weather -o json | jq '.[0]'`,
      does: 'The manifest of the highest version as JSON',
    },
  ],
  async run({ flags, args, terminal }) {
    const kind = kindOf(args.what)
    const all = await withClient(terminal, flags, (client) =>
      withProgress(terminal, `asking for the ${kind.plural.replaceAll('-', ' ')}`, () =>
        client.listResources(kind.plural),
      ),
    )
    const found = args.name === undefined ? all : all.filter(({ metadata }) => metadata.name === args.name)
    if (args.name !== undefined && found.length === 0) {
      throw new CliError(`there is no ${wordOf(kind)} '${args.name}' in this namespace`, {
        exit: EXIT.failed,
        fix:
          suggestion(
            args.name,
            all.map(({ metadata }) => metadata.name),
          ) ?? `see 'writ get ${kind.plural}', or apply a manifest for it`,
      })
    }
    const now = terminal.clock.now()
    if (flags.output === 'yaml') terminal.out(await renderDocuments(found))
    else {
      const none = `No ${kind.plural.replaceAll('-', ' ')}. Apply one: 'writ apply -f ${kind.singular}.yaml'`
      await printResult(terminal, flags.output, found, () =>
        renderTable(found, columnsOf(kind.name, now), styleOf(terminal), none),
      )
    }
    return EXIT.ok
  },
})
