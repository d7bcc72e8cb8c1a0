// Transforms of AgentPolicies: they move numbers into bounds, remove fields or make a dry run of a call. Nothing else, so
// that a transform only narrows (S43). All of them look at the input as it was asked for: their order does not matter.
import type { Decision, Narrowing } from '../contract/decision.ts'
import type { PolicyTransform, ResolvedPolicy } from '../resource/resolved-governance.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import type { Json } from '../util/json.ts'
import { createEdits } from './edit.ts'
import type { Found } from './found.ts'
import { matchesNames } from './name-pattern.ts'
import { matchOf, refOf } from './policy-rule.ts'
import { allFire, type FieldList, type ReadCondition, type Reader, readConditions } from './reading.ts'
import type { ReasonCode } from './reason-code.ts'

type Clamp = Extract<PolicyTransform['narrow'], { kind: 'clamp' }>

export interface CompiledTransform {
  readonly policy: ResolvedPolicy
  readonly rule: string
  readonly when: readonly ReadCondition[]
  readonly narrow: PolicyTransform['narrow']
  /** Numbers of the fields that it narrows. */
  readonly fields: readonly number[]
}

export interface Narrowed {
  readonly narrowings: readonly Narrowing[]
  /** What is narrowed, or what denies because it cannot be. */
  readonly found: readonly Found[]
}

export function compileTransforms(
  policy: ResolvedPolicy,
  tool: ResolvedTool,
  fields: FieldList,
): readonly CompiledTransform[] {
  if (!matchesNames(policy.targetTools, tool.name)) return []
  return policy.transforms.flatMap(({ tools, when, narrow }, index): CompiledTransform[] => {
    if (!matchesNames(tools, tool.name)) return []
    const compiled = {
      policy,
      rule: `transforms[${index}]`,
      when: readConditions(when, fields),
      narrow,
      fields: pointersOf(narrow).map((field) => fields.indexOf(field)),
    }
    return [compiled]
  })
}

function pointersOf(narrow: PolicyTransform['narrow']): readonly string[] {
  if (narrow.kind === 'dry_run') return []
  return narrow.kind === 'clamp' ? [narrow.field] : narrow.fields
}

/** What the transforms make of an input; `narrowInput` makes it. */
export function narrowingsOf(transforms: readonly CompiledTransform[], reader: Reader): Narrowed {
  const fired = transforms.filter((transform) => allFire(transform.when, reader))
  const narrowings: Narrowing[] = []
  const found: Found[] = []
  const add = (transform: CompiledTransform, kind: Narrowing['kind'], field: string, to?: number) => {
    found.push(narrowedBy(transform, kind, field))
    if (transform.policy.mode === 'monitor') return
    const narrowing = { ...refOf(transform.policy, transform.rule), kind, field }
    narrowings.push(to === undefined ? narrowing : { ...narrowing, to })
  }
  for (const transform of fired) {
    const { narrow, fields } = transform
    if (narrow.kind === 'dry_run') add(transform, 'dry_run', '')
    if (narrow.kind === 'drop') {
      narrow.fields.forEach((field, at) => {
        if (reader.read(fields[at] ?? -1) !== undefined) add(transform, 'drop', field)
      })
    }
    if (narrow.kind === 'clamp') {
      const value = reader.read(fields[0] ?? -1)
      const { min, max } = boundsOf(narrow.field, fired)
      if (typeof value !== 'number') {
        found.push(
          deniedBy(transform, 'transform-unjudged', `bounds ${narrow.field}, which is no number here`),
        )
      } else if (min > max) {
        const what = `bounds ${narrow.field} in a way that another transform excludes`
        found.push(deniedBy(transform, 'transform-conflict', what))
      } else if (value < lowest(narrow) || value > most(narrow)) {
        add(transform, 'clamp', narrow.field, Math.min(Math.max(value, min), max))
      }
    }
  }
  return { narrowings, found }
}

/** What would be sent: the very input where nothing narrows it. */
export function narrowInput(
  input: Json | undefined,
  { narrowings }: Pick<Decision, 'narrowings'>,
): Json | undefined {
  const edits = createEdits()
  for (const { kind, field, to } of narrowings) {
    if (kind === 'drop') edits.drop(field)
    if (kind === 'clamp' && to !== undefined) edits.set(field, to)
  }
  return edits.apply(input)
}

/** Of all enforced clamps of a field together. */
function boundsOf(
  field: string,
  fired: readonly CompiledTransform[],
): { readonly min: number; readonly max: number } {
  let min = Number.NEGATIVE_INFINITY
  let max = Number.POSITIVE_INFINITY
  for (const { narrow, policy } of fired) {
    if (narrow.kind !== 'clamp' || narrow.field !== field || policy.mode === 'monitor') continue
    min = Math.max(min, lowest(narrow))
    max = Math.min(max, most(narrow))
  }
  return { min, max }
}

function lowest({ min = Number.NEGATIVE_INFINITY }: Clamp): number {
  return min
}

function most({ max = Number.POSITIVE_INFINITY }: Clamp): number {
  return max
}

const CODES: Readonly<Record<Narrowing['kind'], ReasonCode>> = Object.freeze({
  clamp: 'input-clamped',
  drop: 'input-dropped',
  dry_run: 'dry-run-only',
})

function narrowedBy({ policy, rule }: CompiledTransform, kind: Narrowing['kind'], field: string): Found {
  const what = {
    clamp: `moves ${field} into its bounds`,
    drop: `removes ${field}`,
    dry_run: 'makes a dry run of it',
  }[kind]
  const reason = `AgentPolicy ${policy.name} ${what}`
  return { match: matchOf(policy, rule, { decision: 'transform', code: CODES[kind], reason }) }
}

function deniedBy({ policy, rule }: CompiledTransform, code: ReasonCode, what: string): Found {
  const reason = `AgentPolicy ${policy.name} ${what}`
  return { match: matchOf(policy, rule, { decision: 'deny', code, reason }) }
}
