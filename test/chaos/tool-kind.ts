// The tools of the chaos run: one for each row of the table S22, all of them served by tool-process.ts.

/** How long one attempt may take; what the tool holds longer times out, and may have its effect after that. */
export const ATTEMPT_MS = 400
/** The longest time for which the tool holds a request before it acts. */
export const HOLD_MS = 900
/** How long after an attempt's deadline a `not_done` is believed: longer than anything is held. */
const QUIET_MS = 2_000
/** How long a prepared effect waits for its commit. */
export const COMMIT_MS = 6_000

export const TOOL_KINDS = [
  'read',
  'natural',
  'keyed',
  'query-url',
  'query-operation',
  'fencing',
  'never',
  'undeclared',
  'two-phase',
] as const
export type ToolKind = (typeof TOOL_KINDS)[number]

/** A second effect under one key does no harm, and is no fault (S22). */
export const REPEATABLE: ReadonlySet<ToolKind> = new Set(['natural'])
/**
 * Nobody but a person can find out what became of an unknown effect: the tool cannot be asked, and its answer to a repeat,
 * where one is harmless, was a definite no.
 */
export const NEEDS_PERSON: ReadonlySet<ToolKind> = new Set(['never', 'undeclared', 'natural', 'keyed'])

/** How an unknown effect of this tool is found out. */
export const SETTLED_BY: Readonly<Record<ToolKind, string>> = {
  read: 'asking again',
  natural: 'asking again',
  keyed: 'asking again',
  'query-url': 'status query',
  'query-operation': 'status query',
  fencing: 'status query',
  never: 'a person',
  undeclared: 'a person',
  'two-phase': 'status query or asking again',
}

export function manifests(origin: string): string {
  return TOOL_KINDS.map((kind) => manifest(kind, origin)).join('---\n')
}

function manifest(kind: ToolKind, origin: string): string {
  const path = kind === 'query-operation' ? 'envelope' : 'act'
  const type = kind === 'query-operation' ? 'external' : 'http'
  const spec = [
    `  type: ${type}`,
    `  endpoint: "${origin}/${path}/${kind}"`,
    `  runtime: {timeout: ${ATTEMPT_MS}ms}`,
    ...effectLines(kind, origin),
  ]
  return `apiVersion: writ.dev/v1\nkind: Tool\nmetadata: {name: ${kind}}\nspec:\n${spec.join('\n')}\n`
}

function effectLines(kind: ToolKind, origin: string): readonly string[] {
  const states = 'state: /state, done: done, not_done: not_done, running: running'
  const query = (more: string) =>
    `    status_query: {method: GET, url: "${origin}/status/${kind}/{key}", ${states}, ${more}}`
  const effect = (...lines: readonly string[]) => ['  effect:', ...lines]
  const write = '    class: external-communication'
  switch (kind) {
    case 'read':
      return effect('    class: read-only')
    case 'natural':
      return effect(write, '    determinism: idempotent', '    idempotency: natural')
    case 'keyed':
      return effect(write, '    determinism: idempotent', '    idempotency: {keyed: {retention: 1h}}')
    case 'query-url':
      return effect(write, query(`quiet: ${QUIET_MS}ms`))
    case 'fencing':
      return effect(write, query('fencing: true'))
    case 'query-operation':
      return [
        '  operations:',
        '    invoke: {}',
        '    status: {effect: {class: read-only}}',
        ...effect(write, `    status_query: {operation: status, ${states}, quiet: ${QUIET_MS}ms}`),
      ]
    case 'two-phase':
      return effect(
        write,
        '    two_phase:',
        `      commit: {method: POST, url: "${origin}/commit/${kind}/{token}"}`,
        `      rollback: {method: POST, url: "${origin}/rollback/${kind}/{token}"}`,
        `      deadline: ${COMMIT_MS}ms`,
        query(`quiet: ${QUIET_MS}ms`),
      )
    case 'never':
      return effect(write)
    case 'undeclared':
      return []
  }
}
