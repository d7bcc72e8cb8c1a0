// writ apply: makes the resources of a server what manifests declare.
import type { ResourceDiff } from '../../client/api.ts'
import { kindNamed } from '../../resource/kinds.ts'
import { applyManifests, renderDiff } from '../apply-manifests.ts'
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { clean, printResult, styleOf } from '../print.ts'
import { MANIFEST_FLAGS } from '../read-manifests.ts'

export const command = defineCommand({
  name: 'apply',
  summary: 'Create or change resources from manifests',
  details: [
    'All or nothing: with one error in any manifest nothing is changed. What changes is shown, then what was done. Problems are told as file:line:column, on stderr.',
  ],
  args: [],
  flags: {
    ...MANIFEST_FLAGS,
    'dry-run': { type: 'boolean', description: 'Check and show everything; change nothing.' },
    ...OUTPUT_FLAG,
    ...SERVER_FLAGS,
  },
  examples: [
    { line: 'writ apply -f tool.yaml', does: 'Apply one file' },
    { line: 'writ apply -f tools/ --dry-run', does: 'See what a folder would change' },
    { line: 'writ get tools weather -o yaml | writ apply -f -', does: 'Apply from a pipe' },
  ],
  async run({ flags, terminal }) {
    const dryRun = flags['dry-run']
    const reply = await applyManifests(terminal, flags, dryRun)
    await printResult(terminal, flags.output, reply, () => {
      const done = reply.diff.map((entry) => `${clean(sentence(entry, dryRun))}\n`).join('')
      const changed = reply.diff.filter(({ action }) => action !== 'unchanged')
      return changed.length === 0 ? done : `${renderDiff(changed, styleOf(terminal))}\n${done}`
    })
    return EXIT.ok
  },
})

function sentence({ kind, namespace, name, version, action }: ResourceDiff, dryRun: boolean): string {
  const shown = kindNamed(kind)?.versioned === false ? '' : ` ${version}`
  const what = `${kind} ${namespace}/${name}${shown}`
  if (action === 'unchanged') return `${what} unchanged`
  const verb = action === 'create' ? 'created' : 'updated'
  return dryRun ? `${what} would be ${verb}` : `${what} ${verb}`
}
