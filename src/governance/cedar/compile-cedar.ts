// The Cedar policies of a namespace, ready to be asked: a call pays for the policies whose scope can match it (S44).
import type { GovernanceSet, ResolvedPolicy } from '../../resource/resolved-governance.ts'
import type { ResolvedOperation } from '../../resource/resolved-tool.ts'
import { matchesNames } from '../name-pattern.ts'
import type { Facts } from '../rules.ts'
import { isTarget } from '../targets.ts'
import type { CedarMatch, CompiledCedar } from './cedar.ts'
import { asksApproval } from './cedar-asks.ts'
import { type CedarEngine, EngineBroke, type Slice, type Verdict } from './cedar-engine.ts'
import { cedarMatch, failed, unjudgedMatch, unpermittedMatch } from './cedar-match.ts'
import { cedarNear } from './cedar-near.ts'
import type { CedarPolicy, ParsedCedar } from './cedar-policy.ts'
import { type CedarReads, readsAttribute, readsField } from './cedar-reads.ts'
import { type Asked, principalEntity, toRequest } from './cedar-request.ts'
import { budgetNames } from './cedar-schema.ts'
import {
  actionEntity,
  type Member,
  matchesAction,
  matchesPrincipal,
  matchesResource,
  toolEntity,
} from './cedar-scope.ts'
import { type CedarRecord, inputType } from './cedar-type.ts'

/** An AgentPolicy with the policies of its text that can be about a tool. */
interface Owner {
  readonly policy: ResolvedPolicy
  readonly parsed: ParsedCedar
  readonly about: readonly CedarPolicy[]
}

interface Entry {
  readonly owner: Owner
  readonly cedar: CedarPolicy
}

/** Slices that are remembered; the engine has a bound of its own for what it keeps preparsed. */
const MAX_SLICES = 512
const MAX_TOOLS = 10_000

/** Undefined where nobody in the namespace wrote Cedar: the engine is not even loaded then. */
export function compileCedar(set: GovernanceSet, engine: CedarEngine): CompiledCedar | undefined {
  const owners = set.policies.flatMap((policy): Owner[] => {
    if (policy.cedar === undefined) return []
    const parsed = engine.read(policy.cedar)
    return [{ policy, parsed, about: parsed.policies }]
  })
  if (owners.length === 0) return undefined
  const roles = new Map(set.roles.map((role) => [role.name, role]))
  const budgets = budgetNames(set.policies)
  const byTool = new Map<string, readonly Owner[]>()
  const slices = new Map<string, Slice>()
  const inputs = new WeakMap<ResolvedOperation, CedarRecord>()
  const numbers = new Map(owners.flatMap(({ about }) => about).map((cedar, number) => [cedar, number]))

  function ownersOf(tool: string): readonly Owner[] {
    const known = byTool.get(tool)
    if (known !== undefined) return known
    const entity = toolEntity(tool)
    const found = owners.flatMap((owner): Owner[] => {
      if (!matchesNames(owner.policy.targetTools, tool)) return []
      const about = owner.about.filter(({ json }) => matchesResource(json, entity))
      const silent = about.length === 0 && !owner.parsed.permits && owner.parsed.problems.length === 0
      return silent ? [] : [{ ...owner, about }]
    })
    if (byTool.size >= MAX_TOOLS) byTool.clear()
    byTool.set(tool, found)
    return found
  }

  function concerned(facts: Facts): readonly Owner[] {
    return ownersOf(facts.tool.name).filter(({ policy }) => isTarget(policy.targets, facts))
  }

  function entriesOf(facts: Facts, among: readonly Owner[]): readonly Entry[] {
    const action = actionEntity(facts.operation)
    const principal = principalEntity(facts, roles)
    return among.flatMap((owner) =>
      owner.about
        .filter(({ json }) => matchesAction(json, action) && matchesPrincipal(json, principal))
        .map((cedar) => ({ owner, cedar })),
    )
  }

  function sliceOf(entries: readonly Entry[]): Slice {
    const key = entries.map(({ cedar }) => numbers.get(cedar)).join()
    const known = slices.get(key)
    if (known !== undefined) return known
    const slice = { texts: entries.map(({ cedar }) => cedar.asPermit) }
    if (slices.size >= MAX_SLICES) slices.clear()
    slices.set(key, slice)
    return slice
  }

  function inputOf(operation: ResolvedOperation): CedarRecord {
    const known = inputs.get(operation)
    if (known !== undefined) return known
    const type = inputType(operation.inputSchema)
    inputs.set(operation, type)
    return type
  }

  function requestOf(facts: Facts, principal: Member, reads: readonly CedarReads[]): Asked {
    return toRequest(facts, principal, inputOf(facts.operation), budgets, reads)
  }

  function ask(facts: Facts, entries: readonly Entry[]): { verdict: Verdict; unjudged: readonly string[] } {
    const reads = entries.map(({ cedar }) => cedar.reads)
    const { request, unjudged } = requestOf(facts, principalEntity(facts, roles), reads)
    try {
      return { verdict: engine.evaluate(sliceOf(entries), request), unjudged }
    } catch (error) {
      if (!(error instanceof EngineBroke)) throw error
      return { verdict: { ok: false, why: error.message }, unjudged }
    }
  }

  /** What one group of AgentPolicies says: the enforced ones, or those that only say. */
  function judge(facts: Facts, group: readonly Owner[]): readonly CedarMatch[] {
    const entries = entriesOf(facts, group)
    const unpermitted = (permitted: ReadonlySet<Owner>) =>
      group.flatMap((owner) =>
        owner.parsed.permits && !permitted.has(owner) ? [unpermittedMatch(owner.policy)] : [],
      )
    if (entries.length === 0) return unpermitted(new Set())
    const blind =
      facts.spent === undefined && entries.find(({ cedar }) => readsAttribute(cedar.reads, 'spend'))
    if (blind) return [failed(blind.owner.policy, blind.cedar.rule, 'what budgets have taken is not known')]
    const { verdict, unjudged } = ask(facts, entries)
    if (!verdict.ok) return entries.map(({ owner, cedar }) => failed(owner.policy, cedar.rule, verdict.why))
    const satisfied = new Set(verdict.satisfied)
    const permitted = new Set<Owner>()
    const found = entries.flatMap(({ owner, cedar }, index): CedarMatch[] => {
      const field = unjudged.find((name) => readsField(cedar.reads, name))
      if (field !== undefined) return [unjudgedMatch(owner.policy, cedar, field)]
      const failure = verdict.failed.find((one) => one.index === index)
      if (failure !== undefined) return [failed(owner.policy, cedar.rule, failure.why)]
      if (!satisfied.has(index)) return []
      if (cedar.decision === 'allow') permitted.add(owner)
      return [cedarMatch(owner.policy, cedar)]
    })
    return [...found, ...unpermitted(permitted)]
  }

  return {
    asks(facts) {
      const action = actionEntity(facts.operation)
      const principal = principalEntity(facts, roles)
      return concerned(facts).some(
        ({ policy, about }) =>
          policy.mode === 'enforce' &&
          about.some(
            (cedar) =>
              asksApproval(cedar) &&
              matchesAction(cedar.json, action) &&
              matchesPrincipal(cedar.json, principal),
          ),
      )
    },
    near(facts) {
      const principal = principalEntity(facts, roles)
      const entries = ownersOf(facts.tool.name).flatMap(({ policy, parsed, about }) =>
        parsed.problems.length === 0 ? about.map((cedar) => ({ policy, cedar })) : [],
      )
      return cedarNear(facts, entries, {
        engine,
        principal,
        ask: (reads) => requestOf(facts, principal, reads),
      })
    },
    readsSpend: (facts) =>
      entriesOf(facts, concerned(facts)).some(({ cedar }) => readsAttribute(cedar.reads, 'spend')),
    matches(facts) {
      const among = concerned(facts)
      if (among.length === 0) return []
      const broken = among.flatMap(({ policy, parsed: { problems } }) => {
        const [first] = problems
        return first ? [failed(policy, `cedar:${first.at.line}:${first.at.column}`, first.message)] : []
      })
      const sound = among.filter(({ parsed }) => parsed.problems.length === 0)
      // Apart, so that what only says can neither fail nor change what is enforced.
      return [
        ...broken,
        ...judge(
          facts,
          sound.filter(({ policy }) => policy.mode === 'enforce'),
        ),
        ...judge(
          facts,
          sound.filter(({ policy }) => policy.mode === 'monitor'),
        ),
      ]
    },
  }
}
