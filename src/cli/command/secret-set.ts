// writ secret set: keeps a value of a secret. The value is never on a command line, where others can see it.
import { API_VERSION } from '../../resource/document.ts'
import { isJsonObject } from '../../util/json.ts'
import { CliError, EXIT, usageError } from '../cli-error.ts'
import { defineCommand, SERVER_FLAGS } from '../command.ts'
import { withClient } from '../connect.ts'
import { tellProblems } from '../manifest-problems.ts'
import { clean } from '../print.ts'
import { withProgress } from '../progress.ts'
import { readLocalFile } from '../read-file.ts'
import type { Terminal } from '../terminal.ts'

const MAX_BYTES = 64 * 1024

export const command = defineCommand({
  name: 'secret set',
  summary: 'Keep a value of a secret',
  details: [
    'Reads the value from standard input, a file or a variable; white space around it is dropped. Other values of the secret stay. It is never shown again, and the next call of a tool that names the secret has it. Needs secret:write.',
  ],
  args: [{ name: 'name', description: 'The secret; it is made where there is none.' }],
  flags: {
    key: {
      type: 'string',
      default: 'value',
      description: 'Which of its values.',
      placeholder: 'NAME',
    },
    'from-file': {
      type: 'string',
      description: 'A file that holds the value.',
      placeholder: 'FILE',
      completes: 'file',
    },
    'from-env': { type: 'string', description: 'A variable that holds the value.', placeholder: 'NAME' },
    'share-with': {
      type: 'string',
      multiple: true,
      description: 'A namespace whose tools may use it, too. Replaces those that were given before.',
      placeholder: 'NAMESPACE',
    },
    ...SERVER_FLAGS,
  },
  examples: [
    { line: 'writ secret set weather-api < token.txt', does: 'From standard input' },
    { line: 'writ secret set mail --key password --from-env SMTP_PASSWORD', does: 'From a variable' },
  ],
  async run({ flags, args, terminal }) {
    const { key } = flags
    const value = await readValue(terminal, flags['from-file'], flags['from-env'])
    const done = await withClient(terminal, flags, (client) =>
      withProgress(terminal, 'sealing', async () => {
        const found = (await client.listResources('secrets')).find(
          ({ metadata }) => metadata.name === args.name,
        )
        const spec = found?.spec ?? {}
        const shared = flags['share-with'].length > 0 ? flags['share-with'] : spec.share_with
        const kept = isJsonObject(spec.data) ? spec.data : {}
        const others = Object.fromEntries(Object.entries(kept).filter(([name]) => name !== key))
        const manifest = {
          apiVersion: API_VERSION,
          kind: 'Secret',
          metadata: {
            name: args.name,
            ...metadataOf(found?.metadata),
            // Somebody else may change another value at the same time.
            resourceVersion: found?.metadata.resourceVersion ?? 0,
          },
          spec: {
            data: others,
            stringData: { [key]: value },
            ...(shared === undefined ? {} : { share_with: shared }),
          },
        }
        return client.apply(JSON.stringify(manifest))
      }),
    )
    tellProblems(terminal, done.problems)
    if (!done.ok)
      throw new CliError('the value was not kept', { exit: EXIT.invalid, fix: 'mend what is listed above' })
    const changed = done.diff[0]?.action === 'unchanged' ? 'unchanged' : 'set'
    terminal.out(`secret ${clean(args.name)} ${clean(key)} ${changed}\n`)
    return EXIT.ok
  },
})

/** What the value has beside it stays. */
function metadataOf(found: object | undefined): object {
  if (!isJsonObject(found)) return {}
  const { labels, annotations } = found
  return {
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  }
}

async function readValue(
  terminal: Terminal,
  file: string | undefined,
  variable: string | undefined,
): Promise<string> {
  if (file !== undefined && variable !== undefined)
    throw usageError('the value is given twice', 'use one of --from-file and --from-env')
  if (variable !== undefined) {
    const value = terminal.env[variable]
    if (value === undefined || value.trim() === '')
      throw usageError(`${variable} is not set`, 'set it, or give the value on standard input')
    return value.trim()
  }
  const bytes =
    file === undefined ? await terminal.readIn(MAX_BYTES) : readLocalFile(terminal.cwd, file, MAX_BYTES)
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes).trim()
    if (text !== '') return text
  } catch {
    throw usageError('the value is no text in UTF-8', 'encode it as text, such as with base64')
  }
  throw usageError('the value is empty', 'give it on standard input, with --from-file or with --from-env')
}
