// writ describe: everything a server knows of one resource.
import { stringify } from 'yaml'
import type { Resource } from '../../client/api.ts'
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { KIND_WORDS, kindOf, wordOf } from '../kind-arg.ts'
import { clean, printResult, renderFields, renderTable, styleOf } from '../print.ts'
import { withProgress } from '../progress.ts'
import { textOf, versionOf } from '../resource-text.ts'
import { namingResource } from '../suggest-tool.ts'
import { refuseVersion } from '../version-flag.ts'

const RECENT = 5

export const command = defineCommand({
  name: 'describe',
  summary: 'Show everything about one tool, role, permission, policy, secret or MCP server',
  details: [
    "With -o json or -o yaml the result is a report: the resource, and for a tool its versions and its last calls. It is no manifest; 'writ get tools NAME -o yaml' prints manifests.",
  ],
  args: [
    { name: 'what', description: 'What to show.', ...KIND_WORDS },
    { name: 'name', description: 'Its name.' },
  ],
  flags: {
    version: {
      type: 'string',
      description: 'Of a tool: an exact version; the highest when absent.',
      placeholder: 'VERSION',
    },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    { line: 'writ describe tool weather', does: 'What is declared, and the last calls' },
    { line: 'writ describe role reader', does: 'What a role permits' },
  ],
  async run({ flags, args, terminal }) {
    const { version } = flags
    const kind = kindOf(args.what)
    refuseVersion(kind, version)
    if (kind.name !== 'Tool') {
      const resource = await withClient(terminal, flags, (client) =>
        withProgress(terminal, `asking for the ${wordOf(kind)}`, () =>
          namingResource(client, kind.plural, args.name, () => client.getResource(kind.plural, args.name)),
        ),
      )
      if (flags.output === 'yaml') terminal.out(reportNote(kind.plural, args.name))
      await printResult(terminal, flags.output, { resource }, () => renderResource(resource))
      return EXIT.ok
    }
    const { tool, all, calls } = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'asking for the tool', async () => {
        const tool = await namingResource(client, kind.plural, args.name, () =>
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
    if (flags.output === 'yaml') terminal.out(reportNote(kind.plural, args.name))
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
      return `${renderResource(tool, versions)}\nLast calls\n${recent}`
    })
    return EXIT.ok
  },
})

function reportNote(plural: string, name: string): string {
  return `# A report, not a manifest: 'writ get ${plural} ${name} -o yaml' prints manifests.\n`
}

/** Without `versions` it is of a kind that has none. */
function renderResource(resource: Resource, versions?: readonly string[]): string {
  const { metadata, spec, status } = resource
  const { description, ...declared } = spec
  return `${renderFields([
    ['Name', metadata.name],
    ['Namespace', metadata.namespace],
    ['Version', versions === undefined ? undefined : versionOf(resource)],
    ['All versions', versions?.join(', ')],
    ['Description', textOf(description)],
    ['Digest', status.digest],
    [
      'Resource version',
      metadata.resourceVersion === undefined ? undefined : String(metadata.resourceVersion),
    ],
    ['Created', metadata.createdAt],
    ['Updated', metadata.updatedAt],
  ])}${renderStatus(status)}\nDeclared\n${clean(stringify(declared, { lineWidth: 0, aliasDuplicateObjects: false }))}`
}

/** What was found out, of kinds that something is found out about. */
function renderStatus({ digest: _digest, ...found }: Resource['status']): string {
  if (Object.keys(found).length === 0) return ''
  return `\nStatus\n${clean(stringify(found, { lineWidth: 0, aliasDuplicateObjects: false }))}`
}
