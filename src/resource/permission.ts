// Permissions as roles and rules name them: how one is written, and what is most likely a mistake in one.
import { didYouMean } from '../util/did-you-mean.ts'
import { isName } from './name.ts'
import type { Findings, Path } from './problem.ts'

/** Doors beside calls. */
export const DOOR_PERMISSIONS = [
  'resource:read',
  'resource:write',
  'governance:write',
  'secret:write',
  'mcp:write',
  'call:read',
  'call:settle',
  'approval:read',
  'approval:decide',
  'approval:override',
  'grant:write',
  'freeze:write',
  'token:write',
  'audit:read',
] as const
export type DoorPermission = (typeof DOOR_PERMISSIONS)[number]

const PREFIXES: readonly string[] = ['tool', 'capability', 'class']

/** Trimmed, its fixed parts in lower case. The name of a tool keeps its case: two tools can differ by it alone. */
export function normalPermission(written: string): string {
  const [kind = '', ...rest] = written.trim().split(':')
  const prefix = kind.toLowerCase()
  if (prefix === 'tool') return ['tool', ...rest.slice(0, -1), ...rest.slice(-1).map(lower)].join(':')
  return [prefix, ...rest.map(prefix === 'class' ? same : lower)].join(':')
}

function lower(text: string): string {
  return text.toLowerCase()
}

function same(text: string): string {
  return text
}

/** A permission that is demanded is named whole. */
export function checkRequired(findings: Findings, written: string, path: Path): void {
  if (written.includes('*')) {
    const fix = 'name each permission, with match_mode any where one of them is enough'
    findings.error(path, `'${written}' has a wildcard, and what is required is named whole`, fix)
  } else checkPermission(findings, written, path)
}

function isOfDoor(permission: string): boolean {
  return DOOR_PERMISSIONS.some((one) => one === permission)
}

function meantBy(permission: string): string | undefined {
  const known = [...DOOR_PERMISSIONS, ...PREFIXES.map((one) => `${one}:`)]
  return didYouMean(permission, known) ?? didYouMean(`${permission.split(':', 1)[0]}:`, known)
}

/** What is to be said of a scope that may cover nothing; undefined where Writ itself asks for such a permission. */
export function doubtfulScope(scope: string): string | undefined {
  const permission = normalPermission(scope)
  if (PREFIXES.includes(permission.split(':', 1)[0] ?? '') || isOfDoor(permission)) return undefined
  const guess = meantBy(permission)
  const said = `scope '${scope}' is no permission that Writ asks for: it covers nothing unless a ToolPermission requires it`
  return `${said}. ${guess === undefined ? `A scope looks like ${SCOPE_FORMS}` : `Did you mean ${guess}?`}`
}

const SCOPE_FORMS = 'tool:NAME:invoke, capability:NAME, class:NAME or approval:decide'

/** Other tokens are allowed: a ToolPermission may require them. What looks like a slip is said. */
export function checkPermission(findings: Findings, written: string, path: Path): void {
  const permission = normalPermission(written)
  const [prefix = '', name = '', ...rest] = permission.split(':')
  if (!/^[^\s\p{Cc}]{1,300}$/u.test(permission)) {
    findings.error(path, `'${written}' is no permission`, 'write it such as tool:weather:invoke')
    return
  }
  const star = permission.indexOf('*')
  const covered = PREFIXES.includes(prefix)
  if (
    star !== -1 &&
    (!covered || star !== prefix.length + name.length || name.indexOf('*') !== name.length - 1)
  ) {
    const fix = 'put the `*` at the end of a name, as in tool:weather-*:invoke, capability:mail.* or class:*'
    findings.error(path, `'${written}' has a wildcard where none counts`, fix)
    return
  }
  if (!covered) {
    const guess = isOfDoor(permission) ? undefined : meantBy(permission)
    if (guess !== undefined) {
      findings.warn(path, `'${written}' is no permission that Writ asks for`, `did you mean ${guess}?`)
    }
    return
  }
  const stem = name.endsWith('*') ? name.slice(0, -1) : name
  const shaped = rest.length === (prefix === 'tool' ? 1 : 0) && (prefix !== 'tool' || rest[0] === 'invoke')
  if (!shaped || (stem !== '' && !isName(stem)) || name === '') {
    const fix = prefix === 'tool' ? 'write it such as tool:weather:invoke' : `write it such as ${prefix}:NAME`
    findings.error(path, `'${written}' permits nothing`, fix)
  } else if (name === '*') {
    const what =
      prefix === 'tool' ? 'every tool' : prefix === 'class' ? 'every permission class' : 'every capability'
    findings.warn(path, `'${written}' covers ${what} that is or will be there`, 'name those that are meant')
  }
}
