// What is wrong with a manifest, where, and how to mend it.

export type Severity = 'error' | 'warning'

/** One-based, as editors count. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** Where in a document: names and list indexes from its root. */
export type Path = readonly (string | number)[]

/** A problem that does not know its file: what resolving finds. */
export interface Finding {
  readonly path: Path
  readonly message: string
  readonly fix?: string
  readonly severity: Severity
}

/** A finding about one resource of a set, by whoever looks at the whole set. */
export interface ResourceFinding extends Finding {
  readonly kind: string
  readonly name: string
  /** Where inside the text that stands at `path`, such as Cedar: one-based. */
  readonly inside?: Position
}

export interface Problem {
  readonly file: string
  readonly line: number
  readonly column: number
  /** As people write it: spec.approval_triggers[0].op */
  readonly path: string
  /** Where inside the text that stands there, such as Cedar: one-based. */
  readonly inside?: Position
  readonly message: string
  readonly fix?: string
  readonly severity: Severity
}

/** Collects all problems, not the first. */
export interface Findings {
  error(path: Path, message: string, fix?: string): void
  warn(path: Path, message: string, fix?: string): void
  readonly all: readonly Finding[]
}

export function createFindings(): Findings {
  const all: Finding[] = []
  const add = (severity: Severity) => (path: Path, message: string, fix?: string) => {
    all.push({ path, message, severity, ...(fix === undefined ? {} : { fix }) })
  }
  return { error: add('error'), warn: add('warning'), all }
}

const PLAIN_NAME = /^[A-Za-z_$*][\w$-]*$/

export function formatPath(path: Path): string {
  let text = ''
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`
    else if (!PLAIN_NAME.test(segment)) text += `[${JSON.stringify(segment)}]`
    else text += text === '' ? segment : `.${segment}`
  }
  return text
}

export function toProblem(finding: Finding, file: string, at: Position): Problem {
  return { ...finding, file, line: at.line, column: at.column, path: formatPath(finding.path) }
}

/** Top to bottom, as a person goes through one file. */
export function inReadingOrder(problems: readonly Problem[]): Problem[] {
  return problems.toSorted((a, b) => a.line - b.line || a.column - b.column)
}

/** One line: `file:line:column: error: path: message. Fix: …` */
export function formatProblem(problem: Problem): string {
  const where = `${printable(problem.file)}:${problem.line}:${problem.column}: ${problem.severity}: `
  const what = problem.path === '' ? problem.message : `${problem.path}: ${problem.message}`
  return where + printable(problem.fix === undefined ? what : `${what}. Fix: ${problem.fix}`)
}

/** A manifest's own text ends up in messages: it must not start lines or move the cursor of a terminal. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
}
