// Problems with manifests: shown like a compiler's, and brought back to the file they were written in.
import type { ManifestProblem } from '../client/api.ts'
import { formatProblem, type ManifestDocument, type Problem } from '../resource/manifest.ts'
import type { Terminal } from './terminal.ts'

export function tellProblems(terminal: Terminal, problems: readonly Problem[]): void {
  for (const problem of sortProblems(problems)) terminal.err(`${formatProblem(problem)}\n`)
}

/** By where they are, as a person goes through a file; whoever found them. */
export function sortProblems(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted(
    (a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) || a.line - b.line || a.column - b.column,
  )
}

export function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some(({ severity }) => severity === 'error')
}

/** A stream of documents in which each is on a line of its own, so that a line tells which one it is. */
export function writeStream(documents: readonly ManifestDocument[]): string {
  return documents.map(({ manifest }) => `---\n${JSON.stringify(manifest)}\n`).join('')
}

/** The server saw only the stream; people wrote files. */
export function placeProblems(
  documents: readonly ManifestDocument[],
  problems: readonly ManifestProblem[],
): readonly Problem[] {
  const at = (line: number) => documents[Math.floor((line - 1) / 2)]
  return problems.map((problem) => {
    const document = at(problem.line)
    if (document === undefined) return problem
    // A message may point at another document, such as the first of two with one name.
    const message = problem.message.replaceAll(
      new RegExp(`\\b${problem.file}:(\\d+)`, 'g'),
      (written, line) => {
        const other = at(Number(line))
        return other === undefined ? written : `${other.file}:${other.at(['metadata', 'name']).line}`
      },
    )
    const place = document.at(readPath(problem.path), problem.inside)
    return { ...problem, message, file: document.file, ...place }
  })
}

const SEGMENT = /\.?([A-Za-z_$*][\w$-]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/y

/** The inverse of how problems write a path; as far as it can be read. */
function readPath(text: string): readonly (string | number)[] {
  const path: (string | number)[] = []
  let at = 0
  while (at < text.length) {
    SEGMENT.lastIndex = at
    const found = SEGMENT.exec(text)
    if (found === null) break
    const [all, name, index, quoted] = found
    path.push(name ?? (index !== undefined ? Number(index) : String(JSON.parse(quoted ?? '""'))))
    at += all.length
  }
  return path
}
