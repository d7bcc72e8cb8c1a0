// For explanations: Cedar policies about a tool that were one clause away from matching a call. Never asked in a call.
import type { RuleNear } from '../../contract/decision.ts'
import type { ResolvedPolicy } from '../../resource/resolved-governance.ts'
import { writeOnlyPaths } from '../../util/json-schema.ts'
import { missedTarget } from '../near.ts'
import { refOf } from '../policy-rule.ts'
import type { Facts } from '../rules.ts'
import type { CedarNear } from './cedar.ts'
import { type CedarClauses, clausesOf, policyOf } from './cedar-clause.ts'
import { type CedarEngine, EngineBroke, type Request, type Verdict } from './cedar-engine.ts'
import type { CedarPolicy } from './cedar-policy.ts'
import { type CedarReads, readsAttribute, readsField } from './cedar-reads.ts'
import type { Asked } from './cedar-request.ts'
import { actionEntity, type Member, matchesAction, matchesPrincipal } from './cedar-scope.ts'
import { mayReadInput, readsIn, seenBy, shorten } from './cedar-seen.ts'

export interface NearKit {
  readonly engine: CedarEngine
  readonly principal: Member
  readonly ask: (reads: readonly CedarReads[]) => Asked
}

/** A policy whose resource is the tool. */
interface Entry {
  readonly policy: ResolvedPolicy
  readonly cedar: CedarPolicy
}

interface Candidate extends Entry {
  /** What is known to have failed without the engine: at most one. */
  readonly missed: readonly string[]
  /** Where its conditions are among all that the engine is asked. */
  readonly from: number
  readonly conditions: readonly string[]
}

/** What the engine is asked in one explanation: each is parsed for it, which takes up to half a millisecond. */
const MAX_ASKED = 200
const MAX_CLAUSE = 300

export function cedarNear(facts: Facts, entries: readonly Entry[], kit: NearKit): CedarNear {
  const candidates: Candidate[] = []
  const texts: string[] = []
  let unchecked = 0
  for (const entry of entries) {
    const { cedar } = entry
    const failed = missedScope(entry, facts, kit.principal)
    if (failed.length > 1) continue
    // What is not known can be neither the clause that failed nor one that holds.
    if (facts.spent === undefined && readsAttribute(cedar.reads, 'spend')) continue
    const clauses = clausesOf(cedar.statement)
    const missed = failed.map((say) => say(clauses))
    // Where the scope failed all the conditions have to hold, so that they need not be told apart.
    const asked = missed.length === 0 ? clauses.conditions.map(policyOf) : [clauses.rest]
    if (texts.length + asked.length > MAX_ASKED) {
      unchecked++
      continue
    }
    const conditions = missed.length === 0 ? clauses.conditions : ['']
    candidates.push({ ...entry, missed, from: texts.length, conditions })
    texts.push(...asked)
  }
  if (candidates.length === 0) return { near: [], unchecked }
  const { request, unjudged } = kit.ask(candidates.map(({ cedar }) => cedar.reads))
  const verdict = evaluate(kit.engine, texts, request)
  if (!verdict.ok) return { near: [], unchecked: unchecked + candidates.length }
  const satisfied = new Set(verdict.satisfied)
  const why = new Map(verdict.failed.map((one) => [one.index, one.why]))
  const near = candidates.flatMap(({ policy, cedar, missed, from, conditions }): RuleNear[] => {
    if (unjudged.some((field) => readsField(cedar.reads, field))) return []
    const open = conditions.flatMap((condition, index) =>
      satisfied.has(from + index) ? [] : [{ condition, why: why.get(from + index) }],
    )
    if (missed.length + open.length !== 1) return []
    const [first] = open
    const says = first === undefined ? missed.join() : sayClause(first.condition, facts, request, first.why)
    return [{ ...refOf(policy, cedar.rule), decision: cedar.decision, missed: says }]
  })
  return { near, unchecked }
}

/** How each part of the scope that failed is said: clauses are only looked for where somebody is told. */
function missedScope(
  { policy, cedar }: Entry,
  facts: Facts,
  principal: Member,
): readonly ((clauses: CedarClauses) => string)[] {
  const action = actionEntity(facts.operation)
  const was = ({ uid }: Member) => `${uid.type}::${JSON.stringify(uid.id)}`
  return [
    ...missedTarget(policy.targets, facts).map((text) => () => text),
    ...(matchesPrincipal(cedar.json, principal)
      ? []
      : [(one: CedarClauses) => `${one.principal} (principal was ${was(principal)})`]),
    ...(matchesAction(cedar.json, action)
      ? []
      : [(one: CedarClauses) => `${one.action} (action was ${was(action)})`]),
  ]
}

function evaluate(engine: CedarEngine, texts: readonly string[], request: Request): Verdict {
  try {
    return engine.evaluateOnce(texts, request)
  } catch (error) {
    if (!(error instanceof EngineBroke)) throw error
    return { ok: false, why: error.message }
  }
}

/** The value that a sensitive field is compared with may be that field's value (S5). */
function sayClause(clause: string, { operation }: Facts, request: Request, why: string | undefined): string {
  const reads = readsIn(clause)
  const schema = operation.inputSchema
  const sensitive = schema !== undefined && writeOnlyPaths(schema).length > 0 && reads.some(mayReadInput)
  if (sensitive) return `what it asks of ${reads.map(({ text }) => text).join(', ')} holds`
  const seen = [...seenBy(reads, request), ...(why === undefined ? [] : [`it cannot be evaluated: ${why}`])]
  return `${shorten(clause, MAX_CLAUSE)}${seen.length === 0 ? '' : ` (${seen.join('; ')})`}`
}
