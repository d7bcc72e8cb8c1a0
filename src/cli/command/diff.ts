// writ diff: what apply would change.
import { applyManifests, renderDiff } from '../apply-manifests.ts'
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { printResult, styleOf } from '../print.ts'
import { MANIFEST_FLAGS } from '../read-manifests.ts'

export const command = defineCommand({
  name: 'diff',
  summary: 'Show what apply would change',
  args: [],
  flags: { ...MANIFEST_FLAGS, ...OUTPUT_FLAG, ...SERVER_FLAGS },
  examples: [{ line: 'writ diff -f tool.yaml', does: 'Compare a file with the server' }],
  async run({ flags, terminal }) {
    const { diff } = await applyManifests(terminal, flags, true)
    await printResult(terminal, flags.output, diff, () => renderDiff(diff, styleOf(terminal)))
    return EXIT.ok
  },
})
