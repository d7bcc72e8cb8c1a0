// writ version: what is installed.
import { CONTRACT_REVISION } from '../../contract/version.ts'
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG } from '../command.ts'
import { packageVersion } from '../package-version.ts'
import { printResult } from '../print.ts'

export const command = defineCommand({
  name: 'version',
  summary: 'Show the version',
  args: [],
  flags: OUTPUT_FLAG,
  examples: [],
  async run({ flags, terminal }) {
    const version = {
      writ: packageVersion(),
      contract: CONTRACT_REVISION,
      node: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
    }
    await printResult(
      terminal,
      flags.output,
      version,
      () =>
        `writ ${version.writ} (contract ${version.contract}, Node ${version.node}, ${version.platform})\n`,
    )
    return EXIT.ok
  },
})
