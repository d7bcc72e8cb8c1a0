// Operations that a tool names for asking, committing and undoing (S27), as parts of its effect rule.
import type { EffectRule, Repeat, Scalar, StatusQuery, TwoPhase } from '../contract/effect.ts'
import { isPointer } from '../util/pointer.ts'
import type { EffectDeclaration } from './effect-schema.ts'
import {
  type Declared,
  type NamedRequests,
  type TwoPhaseDeclaration,
  Ways,
  warnOfUnread,
} from './named-way.ts'
import type { Path } from './problem.ts'
import { compensationOf } from './resolve-compensation.ts'
import type { ResolveContext } from './resolve-context.ts'
import type { EffectSource } from './resolve-effect.ts'

type NamedResolution = Pick<EffectRule, 'statusQuery' | 'twoPhase' | 'compensation'> & {
  readonly requests: NamedRequests
}

const SECOND = 1_000
const DAY = 86_400 * SECOND
const QUIET_MS = 5 * SECOND
const ASK_MS = DAY
const COMMIT_MS = 600 * SECOND
const QUIET_BOUNDS = Object.freeze({ min: 0, max: DAY })
const DEADLINE_BOUNDS = Object.freeze({ min: 1, max: 30 * DAY })
/** Nothing there any more is as good as rolled back. */
const GONE: readonly number[] = [404, 410]

/** Whether the effect of the tool names this operation, so that it serves the others. */
export function isNamedBy(effect: EffectDeclaration | undefined, operation: string): boolean {
  if (effect === undefined) return false
  const { status_query, compensation, two_phase } = effect
  const all = [status_query, compensation, two_phase?.prepare, two_phase?.commit, two_phase?.rollback]
  return all.some((named) => {
    if (typeof named !== 'object') return named === operation
    return named.operation === operation && !('tool' in named && named.tool !== undefined)
  })
}

export function resolveNamed(context: ResolveContext, source: EffectSource, repeat: Repeat): NamedResolution {
  const { effect = {}, path } = source
  const requests: Record<string, NamedRequests[string]> = {}
  const way = new Ways(context, source, requests)
  const statusQuery = statusQueryOf(context, effect, [...path, 'status_query'], way)
  const twoPhase = twoPhaseOf(context, effect.two_phase, [...path, 'two_phase'], way)
  const compensation = compensationOf(context, source, [...path, 'compensation'], way)
  return {
    // A read is called again instead of being asked about.
    ...(statusQuery === undefined || repeat === 'read' ? {} : { statusQuery }),
    ...(twoPhase === undefined || repeat !== 'two-phase' ? {} : { twoPhase }),
    ...(compensation === undefined ? {} : { compensation }),
    requests,
  }
}

function statusQueryOf(
  context: ResolveContext,
  { status_query: query }: EffectDeclaration,
  path: Path,
  way: Ways,
): StatusQuery | undefined {
  if (query === undefined) return undefined
  const { findings } = context
  const read = typeof query === 'string' ? {} : query
  for (const field of ['state', 'output'] as const) {
    const text = read[field]
    if (text !== undefined && !isPointer(text))
      findings.error([...path, field], `'${text}' is no JSON pointer`, 'write it such as /status')
  }
  const states = {
    done: listOf(read.done ?? 'done'),
    notDone: listOf(read.not_done ?? 'not_done'),
    running: listOf(read.running ?? 'running'),
  }
  const all = [...states.done, ...states.notDone, ...states.running]
  const twice = all.find((state, index) => all.indexOf(state) !== index)
  if (twice !== undefined)
    findings.error(path, `the state '${twice}' has two meanings`, 'list each state once')
  if (read.fencing === true && read.quiet !== undefined)
    findings.warn(
      [...path, 'quiet'],
      'is not waited for: a tool that fences is believed at once',
      'remove it',
    )
  return {
    operation: way.operation('status', query, path),
    state: read.state ?? '/state',
    ...states,
    output: read.output ?? '/output',
    fencing: read.fencing ?? false,
    quietMs: context.duration([...path, 'quiet'], read.quiet, QUIET_BOUNDS) ?? QUIET_MS,
    deadlineMs: context.duration([...path, 'deadline'], read.deadline, DEADLINE_BOUNDS) ?? ASK_MS,
  }
}

function listOf(states: Scalar | readonly Scalar[]): readonly Scalar[] {
  return Array.isArray(states) ? [...new Set<Scalar>(states)] : [states as Scalar]
}

function twoPhaseOf(
  context: ResolveContext,
  phases: TwoPhaseDeclaration | undefined,
  path: Path,
  way: Ways,
): TwoPhase | undefined {
  if (phases === undefined) return undefined
  const { prepare, commit, rollback } = phases
  for (const name of ['prepare', 'commit', 'rollback'] as const)
    warnOfUnread(context, phases[name], [...path, name], name === 'rollback')
  if (sameWay(commit, rollback)) {
    context.findings.error(
      [...path, 'rollback'],
      'is the same as commit',
      'say what takes the prepared effect back',
    )
  }
  const prepared = prepare === undefined ? undefined : way.operation('prepare', prepare, [...path, 'prepare'])
  return {
    ...(prepared === undefined ? {} : { prepare: prepared }),
    commit: way.operation('commit', commit, [...path, 'commit']),
    rollback: way.operation('rollback', rollback, [...path, 'rollback']),
    rolledBackOn: rolledBackOn(context, rollback, [...path, 'rollback', 'done']),
    deadlineMs: context.duration([...path, 'deadline'], phases.deadline, DEADLINE_BOUNDS) ?? COMMIT_MS,
  }
}

function sameWay(a: Declared, b: Declared): boolean {
  const text = (named: Declared) =>
    typeof named === 'string' ? named : (named.operation ?? `${named.method ?? 'POST'} ${named.url ?? ''}`)
  return text(a) === text(b)
}

/** The states of a rollback are HTTP statuses: there is nothing else to read in an acknowledgement. */
function rolledBackOn(
  { findings }: ResolveContext,
  rollback: TwoPhaseDeclaration['rollback'],
  path: Path,
): number[] {
  const listed = typeof rollback === 'object' && rollback.done !== undefined ? listOf(rollback.done) : []
  const statuses = listed.filter(
    (one): one is number => typeof one === 'number' && Number.isInteger(one) && one >= 400 && one <= 599,
  )
  if (statuses.length < listed.length) {
    findings.error(
      path,
      'must be HTTP statuses from 400 to 599 that mean that nothing is left to roll back',
      'write it such as [409]; 2xx, 404 and 410 mean it already',
    )
  }
  return [...new Set([...GONE, ...statuses])].sort((a, b) => a - b)
}
