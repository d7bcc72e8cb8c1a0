// writ describe tool: everything a server knows of one tool.
import { stringify } from 'yaml'
import type { Resource } from '../../client/api.ts'
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { clean, printResult, renderFields, renderTable, styleOf } from '../print.ts'
import { withProgress } from '../progress.ts'
import { textOf, versionOf } from '../resource-text.ts'
import { namingTool } from '../suggest-tool.ts'

const RECENT = 5

export const command = defineCommand({
  name: 'describe',
  summary: 'Show everything about one tool',
  details: [
    "With -o json or -o yaml the result is a report: the tool, its versions and its last calls. It is no manifest; 'writ get tools NAME -o yaml' prints manifests.",
  ],
  args: [
    { name: 'what', description: 'What to show.', values: ['tool'] },
    { name: 'name', description: 'The name of the tool.' },
  ],
  flags: {
    version: {
      type: 'string',
      description: 'An exact version; the highest when absent.',
      placeholder: 'VERSION',
    },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [{ line: 'writ describe tool weather', does: 'What is declared, and the last calls' }],
  async run({ flags, args, terminal }) {
    const { version } = flags
    const { tool, all, calls } = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'asking for the tool', async () => {
        const tool = await namingTool(client, args.name, () =>
          client.getTool(args.name, version === undefined ? {} : { version }),
        )
        const [all, { calls }] = await Promise.all([
          client.listTools(),
          client.listCalls({ tool: args.name, limit: RECENT }),
        ])
        return { tool, all: all.filter(({ metadata }) => metadata.name === args.name), calls }
      }),
    )
    const versions = all.map(versionOf)
    if (flags.output === 'yaml')
      terminal.out(`# A report, not a manifest: 'writ get tools ${args.name} -o yaml' prints manifests.\n`)
    await printResult(terminal, flags.output, { tool, versions, recent_calls: calls }, () => {
      const recent = renderTable(
        calls,
        [
          { title: 'ID', value: (call) => call.id },
          { title: 'STATE', value: (call) => call.state },
          { title: 'EFFECT', value: (call) => call.effect },
          { title: 'CREATED', value: (call) => call.created_at },
        ],
        styleOf(terminal),
        'None.',
      )
      return `${renderTool(tool, versions)}\nLast calls\n${recent}`
    })
    return EXIT.ok
  },
})

function renderTool(tool: Resource, versions: readonly string[]): string {
  const { metadata, spec, status } = tool
  const { description, ...declared } = spec
  return `${renderFields([
    ['Name', metadata.name],
    ['Namespace', metadata.namespace],
    ['Version', versionOf(tool)],
    ['All versions', versions.join(', ')],
    ['Description', textOf(description)],
    ['Digest', status.digest],
    [
      'Resource version',
      metadata.resourceVersion === undefined ? undefined : String(metadata.resourceVersion),
    ],
    ['Created', metadata.createdAt],
    ['Updated', metadata.updatedAt],
  ])}\nDeclared\n${clean(stringify(declared, { lineWidth: 0, aliasDuplicateObjects: false }))}`
}
