// Whether the roles, tools and operations that a Cedar policy names exist: the engine cannot know.
import type { GovernanceSet } from '../../resource/resolved-governance.ts'
import { OPERATION_CLASSES, type ResolvedTool } from '../../resource/resolved-tool.ts'
import { didYouMean } from '../../util/did-you-mean.ts'
import type { CedarPolicy, CedarProblem } from './cedar-policy.ts'
import { ACTION, actionEntity, namedEntities, ROLE, TOOL } from './cedar-scope.ts'
import { positionAt } from './cedar-text.ts'

export interface Names {
  readonly roles: ReadonlySet<string>
  readonly tools: ReadonlySet<string>
  readonly actions: ReadonlySet<string>
}

interface NameProblem extends CedarProblem {
  readonly severity: 'error' | 'warning'
}

export function namesOf(set: GovernanceSet, tools: readonly ResolvedTool[]): Names {
  const operations = tools.flatMap((tool) => Object.values(tool.operations))
  return {
    // The local admin has a role that nobody declares.
    roles: new Set(['admin', ...set.roles.map((role) => role.name)]),
    tools: new Set(tools.map((tool) => tool.name)),
    actions: new Set(['invoke', ...OPERATION_CLASSES, ...operations.map((one) => actionEntity(one).uid.id)]),
  }
}

/** What policies name, and how a person is told to mend it. */
const KINDS: Readonly<
  Record<string, { readonly what: string; readonly of: keyof Names; readonly fix: string }>
> = {
  [ROLE]: { what: 'role', of: 'roles', fix: 'apply the AgentRole together with it' },
  [TOOL]: { what: 'tool', of: 'tools', fix: 'apply the tool together with it' },
  [ACTION]: {
    what: 'operation',
    of: 'actions',
    fix: 'name an operation or a class: read, write, delete, admin',
  },
}

export function checkNames(text: string, policy: CedarPolicy, names: Names): readonly NameProblem[] {
  const { json, statement } = policy
  const named = namedEntities(json)
  const isForeign = named.some(({ type, id }) => type === TOOL && !names.tools.has(id))
  return named.flatMap(({ type, id }): NameProblem[] => {
    const kind = KINDS[type]
    if (kind === undefined || names[kind.of].has(id)) return []
    const written = statement.text.indexOf(`${type}::${JSON.stringify(id)}`)
    const at = positionAt(text, written < 0 ? statement.start : statement.from + written)
    const meant = didYouMean(id, names[kind.of])
    // A tool may come later, and with it its operations; without its role a forbid would silently forbid nobody.
    const severity = type === TOOL || (type === ACTION && isForeign) ? 'warning' : 'error'
    const message = `there is no ${kind.what} ${JSON.stringify(id)}`
    return [{ at, message, severity, fix: meant === undefined ? kind.fix : `did you mean ${meant}?` }]
  })
}
