// Manifests from this machine to a server, and what it says back in terms of the files they came from.
import type { ApplyReply, ResourceDiff } from '../client/api.ts'
import type { ManifestDocument, Problem } from '../resource/manifest.ts'
import { formatDiff } from '../resource/plan-apply.ts'
import { CliError, EXIT } from './cli-error.ts'
import { type ServerChoice, withClient } from './connect.ts'
import { hasErrors, placeProblems, sortProblems, tellProblems, writeStream } from './manifest-problems.ts'
import type { Style } from './print.ts'
import { withProgress } from './progress.ts'
import { readManifestSet } from './read-manifests.ts'
import type { Terminal } from './terminal.ts'

export interface ApplyChoice extends ServerChoice {
  readonly file: readonly string[]
}

/** Reads everything named by -f and sends it. Problems are told here; errors end in a CliError with nothing written. */
export async function applyManifests(
  terminal: Terminal,
  choice: ApplyChoice,
  dryRun: boolean,
): Promise<ApplyReply> {
  const { documents, problems } = await readManifestSet(terminal, choice.file)
  if (hasErrors(problems)) {
    tellProblems(terminal, problems)
    throw refused(problems)
  }
  const reply = await withClient(terminal, choice, (client) =>
    withProgress(terminal, dryRun ? 'comparing' : 'applying', () =>
      client.apply(writeStream(documents), { dryRun }),
    ),
  )
  const all = sortProblems([...problems, ...placeProblems(documents, reply.problems)])
  tellProblems(terminal, all)
  if (!reply.ok) throw refused(all)
  return { ...reply, problems: all }
}

export function refused(problems: readonly Problem[]): CliError {
  const errors = problems.filter(({ severity }) => severity === 'error').length
  return new CliError(`${errors} ${errors === 1 ? 'error' : 'errors'}; nothing was changed`, {
    exit: EXIT.invalid,
    fix: 'mend what is listed above',
  })
}

export function renderDiff(diff: readonly ResourceDiff[], style: Style): string {
  return formatDiff(diff)
    .split('\n')
    .map((line) =>
      line.startsWith('+ ') ? style.good(line) : line.startsWith('- ') ? style.bad(line) : line,
    )
    .join('\n')
}

export function countDocuments(documents: readonly ManifestDocument[]): string {
  return `${documents.length} ${documents.length === 1 ? 'manifest' : 'manifests'}`
}
