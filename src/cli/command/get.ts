// writ get tools: what a server has.
import type { Resource } from '../../client/api.ts'
import { CliError, EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { type Column, printResult, renderAge, renderDocuments, renderTable, styleOf } from '../print.ts'
import { withProgress } from '../progress.ts'
import { textOf, versionOf } from '../resource-text.ts'
import { suggestion } from '../suggest-tool.ts'

export const command = defineCommand({
  name: 'get',
  summary: 'List tools',
  details: [
    "With -o yaml the result is manifests, as 'writ apply -f -' takes them; with -o json it is one list of them. A tool of the server's own program has no manifest, and cannot be applied.",
  ],
  args: [
    { name: 'what', description: 'What to list.', values: ['tools', 'tool'] },
    { name: 'name', description: 'Only the versions of this one.', optional: true },
  ],
  flags: { ...OUTPUT_FLAG, ...SERVER_FLAGS },
  examples: [
    { line: 'writ get tools', does: 'Every version of every tool' },
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
    const all = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'asking for the tools', () => client.listTools()),
    )
    const tools = args.name === undefined ? all : all.filter(({ metadata }) => metadata.name === args.name)
    if (args.name !== undefined && tools.length === 0) {
      throw new CliError(`there is no tool '${args.name}' in this namespace`, {
        exit: EXIT.failed,
        fix:
          suggestion(
            args.name,
            all.map(({ metadata }) => metadata.name),
          ) ?? "see 'writ get tools', or apply a manifest for it",
      })
    }
    const now = terminal.clock.now()
    if (flags.output === 'yaml') terminal.out(await renderDocuments(tools))
    else {
      await printResult(terminal, flags.output, tools, () =>
        renderTable(tools, columns(now), styleOf(terminal), "No tools. Apply one: 'writ apply -f tool.yaml'"),
      )
    }
    return EXIT.ok
  },
})

function columns(now: number): readonly Column<Resource>[] {
  return [
    { title: 'NAME', value: ({ metadata }) => metadata.name },
    { title: 'VERSION', value: versionOf },
    { title: 'TYPE', value: ({ spec }) => textOf(spec.type) ?? 'http' },
    { title: 'RISK', value: ({ spec }) => textOf(spec.risk_level) ?? 'low' },
    {
      title: 'AGE',
      value: ({ metadata }) =>
        metadata.createdAt === undefined ? '-' : renderAge(now - Date.parse(metadata.createdAt)),
    },
    { title: 'DESCRIPTION', value: ({ spec }) => textOf(spec.description) ?? '' },
  ]
}
