// writ schema: the JSON Schema of manifests, which editors complete and check with.
import { editorSchema } from '../../resource/editor-schema.ts'
import { EXIT } from '../cli-error.ts'
import { defineCommand } from '../command.ts'
import { KIND_WORDS, kindOf } from '../kind-arg.ts'

export const command = defineCommand({
  name: 'schema',
  summary: 'Print the JSON Schema of manifests, for editors',
  details: [
    'Draft-07, as the YAML language server and other editors read it: fields with what they mean, the values they take, and every other spelling that is read. What depends on more than one field is left to writ validate.',
    'A first line in a manifest names the file for an editor: # yaml-language-server: $schema=writ.schema.json',
  ],
  args: [
    {
      name: 'what',
      description: 'One kind; all of them when absent.',
      optional: true,
      ...KIND_WORDS,
    },
  ],
  flags: {},
  examples: [
    { line: 'writ schema > writ.schema.json', does: 'For all manifests' },
    { line: 'writ schema tools', does: 'For tools alone' },
  ],
  async run({ args, terminal }) {
    const schema = args.what === undefined ? editorSchema() : editorSchema([kindOf(args.what)])
    terminal.out(`${JSON.stringify(schema, null, 2)}\n`)
    return EXIT.ok
  },
})
