// Checks the Cedar texts of a namespace against what its tools declare, before they are applied.
import type { ValidationError } from '@cedar-policy/cedar-wasm/nodejs'
import type { Finding, Position } from '../../resource/problem.ts'
import type { GovernanceSet, ResolvedPolicy } from '../../resource/resolved-governance.ts'
import type { ResolvedOperation, ResolvedTool } from '../../resource/resolved-tool.ts'
import { matchesNames } from '../name-pattern.ts'
import { type CedarEngine, EngineBroke, TOO_MUCH } from './cedar-engine.ts'
import { checkNames, type Names, namesOf } from './cedar-names.ts'
import { type CedarPolicy, type CedarProblem, fromEngine, type ParsedCedar, startOf } from './cedar-policy.ts'
import { readsInput } from './cedar-reads.ts'
import { budgetNames, cedarSchema } from './cedar-schema.ts'
import {
  ACTION,
  actionEntity,
  matchesAction,
  matchesResource,
  namedEntities,
  TOOL,
  toolEntity,
} from './cedar-scope.ts'
import { type CedarRecord, inputType, NOTHING, typeToJson } from './cedar-type.ts'

/** What is wrong with the Cedar text of an AgentPolicy. */
export interface CedarFinding extends Finding {
  /** The name of the AgentPolicy. */
  readonly policy: string
  /** Inside the text. */
  readonly at: Position
}

interface Checked {
  readonly policy: ResolvedPolicy
  readonly parsed: ParsedCedar
  readonly cedar: CedarPolicy
}

interface Offered {
  readonly tool: ResolvedTool
  readonly operation: ResolvedOperation
}

/** Policies that are checked against one schema, and the operations that it stands for. */
interface Batch {
  readonly operation: Pick<ResolvedOperation, 'name' | 'classes'>
  readonly input: CedarRecord
  readonly tools: Set<string>
  readonly members: Set<Checked>
}

export function checkCedar(
  set: GovernanceSet,
  tools: readonly ResolvedTool[],
  engine: CedarEngine,
): readonly CedarFinding[] {
  const written = set.policies.filter((policy) => policy.cedar !== undefined)
  if (written.length === 0) return []
  const found = createFound()
  const budgets = budgetNames(set.policies)
  const names = namesOf(set, tools)
  const all: Checked[] = []
  for (const policy of written) {
    const parsed = engine.read(policy.cedar ?? '')
    for (const problem of parsed.problems) found.add(policy, 'error', problem)
    for (const cedar of parsed.policies) all.push({ policy, parsed, cedar })
  }
  for (const one of all) if (isBoundless(one)) found.add(one.policy, 'warning', boundless(one))
  const known = all.filter((one) => isKnown(one, names, found))
  const offered = tools.flatMap((tool) =>
    Object.values(tool.operations).flatMap((operation) =>
      operation.internal === true ? [] : [{ tool, operation }],
    ),
  )
  const isSpecial = ({ cedar }: Checked) => readsInput(cedar.reads) && isAboutTools(cedar)
  const general = known.filter((one) => !isSpecial(one))
  validateGeneral(general, offered, budgets, engine, found)
  validateSpecial(known.filter(isSpecial), offered, budgets, engine, found)
  const order = new Map(written.map(({ name }, index) => [name, index]))
  const rank = ({ policy }: CedarFinding) => order.get(policy) ?? 0
  return found.all.toSorted((a, b) => rank(a) - rank(b) || a.at.line - b.at.line || a.at.column - b.at.column)
}

/** What can be said of the texts alone: syntax and annotations, whatever tools and roles there are. */
export function checkCedarTexts(set: GovernanceSet, engine: CedarEngine): readonly CedarFinding[] {
  const found = createFound()
  for (const policy of set.policies) {
    if (policy.cedar === undefined) continue
    for (const problem of engine.read(policy.cedar).problems) found.add(policy, 'error', problem)
  }
  return found.all
}

/** Whether all that it names exists: if not, the engine would say the same in other words. */
function isKnown({ policy, parsed, cedar }: Checked, names: Names, found: Found): boolean {
  const problems = checkNames(parsed.text, cedar, names)
  for (const { severity, ...problem } of problems) found.add(policy, severity, problem)
  return problems.every(({ severity }) => severity !== 'error')
}

function isAboutTools({ json }: CedarPolicy): boolean {
  const { resource } = json
  if (resource.op === 'All') return true
  if (resource.op === 'is') return resource.entity_type === TOOL
  return !('entity' in resource) || ('type' in resource.entity && resource.entity.type === TOOL)
}

/** What reads no input is the same for all tools, so it is checked once. */
function validateGeneral(
  members: readonly Checked[],
  offered: readonly Offered[],
  budgets: readonly string[],
  engine: CedarEngine,
  found: Found,
): void {
  if (members.length === 0) return
  const operations = [
    // What comes with a tool that is not there yet was told already; such an operation is taken to be there.
    ...['invoke', ...actionsNamed(members)].map((name) => ({
      operation: { name, classes: [] },
      input: NOTHING,
    })),
    ...offered.map(({ operation }) => ({ operation, input: NOTHING })),
  ]
  const answer = validate(members, cedarSchema(operations, budgets), engine)
  for (const { member, problems } of answer.errors) {
    for (const problem of problems) found.add(member.policy, 'error', problem)
  }
  for (const member of answer.impossible) found.add(member.policy, 'warning', impossible(member))
}

/** What reads input is checked against every operation that it can be about: operations with the same input at once. */
function validateSpecial(
  members: readonly Checked[],
  offered: readonly Offered[],
  budgets: readonly string[],
  engine: CedarEngine,
  found: Found,
): void {
  const batches = new Map<string, Batch>()
  const possible = new Set<Checked>()
  const checked = new Set<Checked>()
  for (const { tool, operation } of offered) {
    const action = actionEntity(operation)
    const entity = toolEntity(tool.name)
    const about = members.filter(
      ({ policy, cedar }) =>
        matchesNames(policy.targetTools, tool.name) &&
        matchesResource(cedar.json, entity) &&
        matchesAction(cedar.json, action),
    )
    if (about.length === 0) continue
    const input = inputType(operation.inputSchema)
    const key = JSON.stringify([action, typeToJson(input)])
    const batch = batches.get(key) ?? { operation, input, tools: new Set(), members: new Set() }
    batches.set(key, batch)
    batch.tools.add(tool.name)
    for (const one of about) batch.members.add(one)
  }
  for (const { operation, input, tools, members: its } of batches.values()) {
    const schema = cedarSchema([{ operation, input }], budgets, actionsNamed([...its]))
    const answer = validate([...its], schema, engine)
    for (const one of its) checked.add(one)
    for (const one of its) if (!answer.impossible.includes(one)) possible.add(one)
    const [tool] = tools
    const more = tools.size === 1 ? '' : ` and ${tools.size - 1} more`
    for (const { member, problems } of answer.errors) {
      for (const problem of problems) {
        const message = `${problem.message} (tool ${tool}, operation ${operation.name}${more})`
        found.add(member.policy, 'error', { ...problem, message }, problem.message)
      }
    }
  }
  for (const member of members) {
    if (!checked.has(member)) found.add(member.policy, 'warning', unmatched(member))
    else if (!possible.has(member)) found.add(member.policy, 'warning', impossible(member))
  }
}

function actionsNamed(members: readonly Checked[]): readonly string[] {
  const named = members.flatMap(({ cedar }) => namedEntities(cedar.json))
  return [...new Set(named.flatMap(({ type, id }) => (type === ACTION ? [id] : [])))]
}

interface Validated {
  readonly errors: readonly { readonly member: Checked; readonly problems: readonly CedarProblem[] }[]
  readonly impossible: readonly Checked[]
}

function validate(
  members: readonly Checked[],
  schema: ReturnType<typeof cedarSchema>,
  engine: CedarEngine,
): Validated {
  const texts = members.map(({ cedar }, index) => [String(index), cedar.statement.text] as const)
  const { message, help: fix } = TOO_MUCH
  const broken = (member: Checked) => ({
    member,
    problems: [{ at: startOf(member.parsed.text, member.cedar.statement), message, fix }],
  })
  try {
    const answer = engine.validate({ schema, policies: { staticPolicies: Object.fromEntries(texts) } })
    if (answer.type === 'failure') {
      throw new Error(`the generated schema is wrong: ${answer.errors.map((one) => one.message).join('; ')}`)
    }
    const memberOf = ({ policyId }: ValidationError) => members[Number(policyId)]
    // The engine has no order of its own.
    const inOrder = answer.validationErrors.toSorted((a, b) => (a.error.message < b.error.message ? -1 : 1))
    const errors = inOrder.flatMap((one) => {
      const member = memberOf(one)
      if (member === undefined) return []
      return [{ member, problems: fromEngine(member.parsed.text, member.cedar.statement, one.error) }]
    })
    const failing = new Set(errors.map(({ member }) => member))
    const impossible = answer.validationWarnings.flatMap((one) => {
      const member = memberOf(one)
      const isSo = /^(for policy `[^`]*`, )?(policy is impossible|unable to find an applicable action)/
      return member !== undefined && !failing.has(member) && isSo.test(one.error.message) ? [member] : []
    })
    return { errors, impossible: [...new Set(impossible)] }
  } catch (error) {
    if (!(error instanceof EngineBroke)) throw error
    return { errors: members.map(broken), impossible: [] }
  }
}

function impossible({ parsed, cedar }: Checked): CedarProblem {
  const at = startOf(parsed.text, cedar.statement)
  const fix = 'see which of its conditions can never hold, or take it away'
  return { at, message: `the policy ${cedar.id} can never match`, fix }
}

function unmatched({ parsed, cedar }: Checked): CedarProblem {
  const at = startOf(parsed.text, cedar.statement)
  const message = `the policy ${cedar.id} reads the input, and there is no tool that it is about`
  return { at, message, fix: 'apply the tool together with the policy: only then can it be checked' }
}

/** About everybody, everything and every call. To ask people each time may be meant; the rest is more often a slip. */
function isBoundless({ parsed, cedar: { decision, json } }: Checked): boolean {
  if (parsed.problems.length > 0 || (decision !== 'allow' && decision !== 'deny')) return false
  const { principal, action, resource, conditions } = json
  return conditions.length === 0 && [principal, action, resource].every(({ op }) => op === 'All')
}

function boundless({ parsed, cedar }: Checked): CedarProblem {
  const does = cedar.decision === 'deny' ? 'denies' : 'permits'
  return {
    at: startOf(parsed.text, cedar.statement),
    message: `the policy ${cedar.id} ${does} every call of every tool`,
    fix: 'name a role, an action or a tool, or say when; leave it, if that is what you mean',
  }
}

interface Found {
  add(policy: ResolvedPolicy, severity: Finding['severity'], problem: CedarProblem, same?: string): void
  readonly all: readonly CedarFinding[]
}

/** Each thing is said once, however many tools and kinds of callers it is wrong for. */
function createFound(): Found {
  const all: CedarFinding[] = []
  const said = new Set<string>()
  return {
    all,
    add({ name }, severity, { at, message, fix }, same = message) {
      const key = JSON.stringify([name, at, same.replace(/Writ::(Agent|Person|Service)/g, 'principal')])
      if (said.has(key)) return
      said.add(key)
      const where = `line ${at.line}, column ${at.column} of the text`
      all.push({ policy: name, path: ['spec', 'cedar'], at, message: `${where}: ${message}`, fix, severity })
    },
  }
}
