// writ doctor: looks for what is wrong, and says what to do about it.
import type { Check, Verdict } from '../check.ts'
import { checkFolder, checkLock, checkNode, checkStore, checkToken } from '../check-data.ts'
import { checkServer } from '../check-server.ts'
import { EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG, SERVER_FLAGS } from '../command.ts'
import { clientDataFolder } from '../find-server.ts'
import { clean, printResult, type Style, styleOf } from '../print.ts'
import { withProgress } from '../progress.ts'

export const command = defineCommand({
  name: 'doctor',
  summary: 'Look for what is wrong with this installation',
  details: [
    'Each check is ok, warn or fail, with what to do about it. The exit code is 7 when a check fails.',
  ],
  args: [],
  flags: { ...OUTPUT_FLAG, data: SERVER_FLAGS.data },
  examples: [{ line: 'writ doctor -o json', does: 'For a monitor' }],
  async run({ flags, terminal }) {
    const folder = clientDataFolder(terminal, flags.data)
    const checks = await withProgress(terminal, 'looking', async () => [
      checkNode(process.versions.node),
      checkFolder(folder),
      await checkLock(folder),
      checkToken(folder),
      await checkStore(folder),
      ...(await checkServer(terminal, flags.data)),
    ])
    await printResult(terminal, flags.output, { checks }, () => renderChecks(checks, styleOf(terminal)))
    return checks.some(({ verdict }) => verdict === 'fail') ? EXIT.failed : EXIT.ok
  },
})

function renderChecks(checks: readonly Check[], style: Style): string {
  const width = Math.max(...checks.map(({ name }) => name.length))
  const paint: Record<Verdict, (text: string) => string> = {
    ok: style.good,
    warn: style.warn,
    fail: style.bad,
  }
  return checks
    .map(({ name, verdict, detail, fix }) => {
      const hint = fix ? `\n${' '.repeat(width + 8)}Fix: ${clean(fix)}` : ''
      return `${paint[verdict](verdict.padEnd(4))}  ${name.padEnd(width)}  ${clean(detail)}${hint}\n`
    })
    .join('')
}
