// Operations that a tool names for asking, committing and undoing (S27): each must say exactly one way, and one that is there.
import { isPointer } from '../util/pointer.ts'
import type { EffectDeclaration } from './effect-schema.ts'
import type { Path } from './problem.ts'
import type { ResolveContext } from './resolve-context.ts'

type Named = Exclude<EffectDeclaration['status_query'] | EffectDeclaration['compensation'], undefined>

export function checkNamedOperations(context: ResolveContext, effect: EffectDeclaration, path: Path): void {
  const { status_query: query, compensation, two_phase: phases } = effect
  if (query !== undefined) check(context, query, [...path, 'status_query'], true)
  if (compensation !== undefined && compensation !== 'none')
    check(context, compensation, [...path, 'compensation'], false)
  for (const name of ['prepare', 'commit', 'rollback'] as const) {
    const phase = phases?.[name]
    if (phase !== undefined) check(context, phase, [...path, 'two_phase', name], false)
  }
  if (typeof query === 'object')
    context.duration([...path, 'status_query', 'quiet'], query.quiet, QUIET_BOUNDS)
  if (phases !== undefined)
    context.duration([...path, 'two_phase', 'deadline'], phases.deadline, DEADLINE_BOUNDS)
}

const QUIET_BOUNDS = Object.freeze({ min: 0, max: 86_400_000 })
const DEADLINE_BOUNDS = Object.freeze({ min: 1, max: 30 * 86_400_000 })

function check(context: ResolveContext, named: Named, path: Path, asks: boolean): void {
  const { findings } = context
  if (typeof named === 'string') {
    checkOperation(context, named, path)
    return
  }
  const tool = 'tool' in named ? named.tool : undefined
  const ways = [named.operation, named.url, tool].filter((way) => way !== undefined)
  if (ways.length !== 1) {
    const choices = asks ? 'operation or url' : 'operation, tool or url'
    findings.error(path, `must have exactly one of ${choices}`, 'keep one')
  }
  if (named.operation !== undefined) checkOperation(context, named.operation, [...path, 'operation'])
  if (named.url !== undefined) checkUrl(context, named.url, [...path, 'url'])
  if (named.state !== undefined && !isPointer(named.state)) {
    findings.error([...path, 'state'], `'${named.state}' is no JSON pointer`, 'write it such as /status')
  }
  if (asks && named.url !== undefined) {
    for (const field of ['state', 'done', 'not_done'] as const) {
      if (named[field] === undefined)
        findings.error([...path, field], 'is missing: without it no answer can be read', 'add it')
    }
  }
}

function checkOperation({ spec, findings }: ResolveContext, name: string, path: Path): void {
  const known = Object.keys(spec.operations ?? {})
  if (!known.includes(name)) {
    const choices = known.length === 0 ? 'declare it under operations' : `use one of ${known.join(', ')}`
    findings.error(path, `the tool has no operation '${name}'`, choices)
  }
}

function checkUrl({ findings, type }: ResolveContext, text: string, path: Path): void {
  // The braces of a placeholder are no URL characters in a host.
  const url = URL.parse(text.replaceAll(/\{(?:key|token)\}/g, 'x'))
  if (type !== 'http') findings.error(path, `is only read for type http, not ${type}`, 'name an operation')
  else if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    findings.error(
      path,
      'is no absolute http or https URL without user name',
      'write it such as https://host/status/{key}',
    )
  } else if (!/\{(?:key|token)\}/.test(text)) {
    findings.error(path, 'does not say which call it is about', 'put {key} or {token} into it')
  }
}
