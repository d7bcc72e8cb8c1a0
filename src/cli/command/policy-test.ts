// writ policy test: who may do what, as cases that a build server checks. Offline, nothing is sent.
import { dirname, join } from 'node:path'
import { PROFILES } from '../../config/config-schema.ts'
import { checkPolicyCases } from '../check-policy-cases.ts'
import { CliError, EXIT } from '../cli-error.ts'
import { defineCommand, OUTPUT_FLAG } from '../command.ts'
import { indent, renderGoverning } from '../explain-text.ts'
import { hasErrors, tellProblems } from '../manifest-problems.ts'
import { clean, printResult, type Style, styleOf } from '../print.ts'
import { withProgress } from '../progress.ts'
import { readLocalFile } from '../read-file.ts'
import { readManifestSet } from '../read-manifests.ts'
import { readPolicyCases } from '../read-policy-cases.ts'
import { type CaseResult, runPolicyCases } from '../run-policy-cases.ts'
import type { Terminal } from '../terminal.ts'

const MAX_FILE_BYTES = 16 * 1024 * 1024

export const command = defineCommand({
  name: 'policy test',
  summary: 'Run cases against manifests, without a server',
  details: [
    'A file of cases names the manifests that govern them, from its own folder on, and for each case a caller, a call and the decision that is expected: allow, transform, require-approval, escalate, deny, or error where no decision is reached. It may also expect a reason code and what would be sent. With at, a case is judged as of that time.',
    'Everything runs in memory and nothing is sent. Each case that fails is shown with what decided. The exit code is 0 when all hold, 7 when one does not, and 3 when a file is not valid.',
  ],
  args: [{ name: 'file', description: 'A file of cases (YAML or JSON).', repeats: true, completes: 'file' }],
  flags: {
    profile: {
      type: 'string',
      values: PROFILES,
      default: 'local',
      description: 'The profile of the server that the manifests are meant for.',
      placeholder: 'NAME',
    },
    ...OUTPUT_FLAG,
  },
  examples: [{ line: 'writ policy test policy/*.cases.yaml', does: 'In CI, before a policy is applied' }],
  async run({ flags, args, terminal }) {
    const files: TestedFile[] = []
    for (const file of args.file) files.push(await test(terminal, file, flags.profile))
    const all = files.flatMap(({ cases }) => cases)
    const failed = all.filter(({ ok }) => !ok).length
    const report = { ok: failed === 0, cases: all.length, failed, files: files.map(reportOf) }
    await printResult(terminal, flags.output, report, () => renderFiles(files, styleOf(terminal)))
    return failed === 0 ? EXIT.ok : EXIT.failed
  },
})

interface TestedFile {
  readonly file: string
  readonly name: string
  readonly lines: readonly number[]
  readonly cases: readonly CaseResult[]
}

async function test(terminal: Terminal, file: string, profile: 'local' | 'production'): Promise<TestedFile> {
  const read = readPolicyCases(readLocalFile(terminal.cwd, file, MAX_FILE_BYTES), file)
  const { cases, lines, problems, at } = read
  if (cases === undefined || at === undefined) {
    tellProblems(terminal, problems)
    throw invalid(`${file} is not valid`)
  }
  const beside = cases.manifests.map((path) => join(dirname(file), path))
  const manifests = await readManifestSet(terminal, beside)
  if (hasErrors(manifests.problems)) {
    tellProblems(terminal, manifests.problems)
    throw invalid('the manifests are not valid')
  }
  const misnamed = checkPolicyCases(cases.cases, manifests.documents, file, at)
  if (misnamed.length > 0) {
    tellProblems(terminal, misnamed)
    throw invalid(`${file} is not valid`)
  }
  const results = await withProgress(terminal, `testing ${file}`, () =>
    runPolicyCases(terminal, cases.cases, { profile, manifests }),
  )
  return { file, name: cases.name ?? file, lines, cases: results }
}

function invalid(message: string): CliError {
  return new CliError(message, { exit: EXIT.invalid, fix: 'mend what is listed above' })
}

function reportOf({ file, name, lines, cases }: TestedFile): object {
  return {
    file,
    name,
    cases: cases.map(({ explanation, ...one }, at) => ({
      ...one,
      line: lines[at],
      governing: explanation.governing,
      changes: explanation.changes,
    })),
  }
}

function renderFiles(files: readonly TestedFile[], style: Style): string {
  const failures = files.flatMap(({ file, lines, cases }) =>
    cases.flatMap((one, at) => (one.ok ? [] : [renderFailure(`${file}:${lines[at] ?? 1}`, one, style)])),
  )
  const all = files.flatMap(({ cases }) => cases)
  const count = `${all.length} ${all.length === 1 ? 'case' : 'cases'}`
  const end =
    failures.length === 0
      ? style.good(`${count}, all hold`)
      : style.bad(`${count}, ${failures.length} failed`)
  return `${failures.join('\n')}${failures.length === 0 ? '' : '\n'}${end}\n`
}

function renderFailure(place: string, { name, wrong, explanation }: CaseResult, style: Style): string {
  const head = `${style.bad('failed')} ${clean(`${place}: ${name}`)}\n`
  const why = wrong.map((one) => `  ${clean(one)}\n`).join('')
  const { failure } = explanation
  const said = failure === undefined ? '' : `  ${clean(failure.message)}\n`
  return `${head}${why}${said}${indent(renderGoverning(explanation, style))}`
}
