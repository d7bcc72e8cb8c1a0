// What a decision of Writ's own rules costs: for namespaces of 1 to 10,000 rules, about many tools and about one, and for
// rules about one tool that have to be asked one by one.
import { createCaller } from '../src/contract/caller.ts'
import { createRules } from '../src/governance/create-rules.ts'
import type { Facts, Rules } from '../src/governance/rules.ts'
import { resolveTool } from '../src/resource/resolve-tool.ts'
import type {
  Condition,
  GovernanceSet,
  ResolvedPolicy,
  Targets,
} from '../src/resource/resolved-governance.ts'
import type { ResolvedTool } from '../src/resource/resolved-tool.ts'

const COUNTS = [1, 100, 1_000, 10_000]
const RULES_PER_POLICY = 10
const EVERYBODY: Targets = { applyMode: 'global', agents: [], systems: [], tasks: [] }

const SPREADS = ['about 100 tools', 'about one tool', 'one tool, each asked'] as const
type Spread = (typeof SPREADS)[number]

export function policyBench({ quick }: { readonly quick: boolean }): void {
  console.log('\nown rules: one decision')
  console.log(
    `${'rules'.padStart(9)}  ${'spread'.padEnd(22)}${['ratio', 'p50 us', 'p99 us'].map((head) => head.padStart(10)).join('')}`,
  )
  for (const spread of SPREADS) {
    const lines = COUNTS.map((count) => ({ count, ...measured(count, spread, quick ? 2_000 : 20_000) }))
    const one = lines[0]?.p50 ?? 1
    for (const { count, p50, p99 } of lines) {
      const cells = [(p50 / one).toFixed(2), p50.toFixed(1), p99.toFixed(1)]
      console.log(
        `${String(count).padStart(9)}  ${spread.padEnd(22)}${cells.map((cell) => cell.padStart(10)).join('')}`,
      )
    }
  }
}

function measured(
  count: number,
  spread: Spread,
  rounds: number,
): { readonly p50: number; readonly p99: number } {
  const tool = payTool()
  const rules = createRules(setOf(count, spread), { profile: 'local' })
  const factsOf = (amount: number): Facts => {
    const caller = createCaller({ actor: 'agent-7', kind: 'agent', roles: ['payer'] })
    const operation = tool.operations.invoke
    if (operation === undefined) throw new Error('the tool has no operation')
    return { caller, tool, operation, input: { amount, to: 'x' }, now: 0, also: [] }
  }
  run(rules, factsOf, Math.ceil(rounds / 4))
  const latencies = run(rules, factsOf, rounds).sort()
  const at = (part: number) => (latencies[Math.floor(latencies.length * part)] ?? 0) * 1000
  return { p50: at(0.5), p99: at(0.99) }
}

function run(rules: Rules, factsOf: (amount: number) => Facts, rounds: number): Float64Array {
  const latencies = new Float64Array(rounds)
  for (let round = 0; round < rounds; round++) {
    // A caller of its own each time, as every request has one.
    const facts = factsOf(round % 50)
    const from = performance.now()
    const { kind } = rules.decide(facts)
    latencies[round] = performance.now() - from
    if (kind !== 'allow') throw new Error(`expected to be allowed, not ${kind}`)
  }
  return latencies
}

/** Rules that look at the input and do not match, which is what most of them do. */
function setOf(count: number, spread: Spread): GovernanceSet {
  const policies: ResolvedPolicy[] = []
  for (let first = 0; first < count; first += RULES_PER_POLICY) {
    const inThis = Math.min(RULES_PER_POLICY, count - first)
    policies.push({
      namespace: 'default',
      name: `policy-${first}`,
      version: '1-aaaaaaaaaaaa',
      mode: 'enforce',
      targets: EVERYBODY,
      targetTools: [],
      blockedTools: [],
      rules: Array.from({ length: inThis }, (_, index) => ({
        tools: [
          spread !== 'about 100 tools' || (first + index) % 100 === 0
            ? 'pay'
            : `tool-${(first + index) % 100}`,
        ],
        operations: [],
        operationClasses: [],
        riskLevels: [],
        when: [conditionOf(first + index, spread)],
        decision: 'deny' as const,
      })),
      transforms: [],
      budgets: [],
      approval: { quorum: 1, ttlMs: 600_000 },
      notEnforced: [],
    })
  }
  const role = {
    namespace: 'default',
    name: 'payer',
    version: '1-aaaaaaaaaaaa',
    description: '',
    permissions: ['tool:pay:invoke'],
    inherits: [],
    clearance: 'internal' as const,
  }
  return { roles: [role], permissions: [], policies }
}

/** Bounds are found by their order; of lists that differ, each has to be looked into. */
function conditionOf(index: number, spread: Spread): Condition {
  return spread === 'one tool, each asked'
    ? { field: '/to', op: 'not_in', value: ['x', `y-${index}`] }
    : { field: '/amount', op: 'gt', value: 100 + index }
}

function payTool(): ResolvedTool {
  const { tool, errors } = resolveTool(
    {
      apiVersion: 'writ.dev/v1',
      kind: 'Tool',
      metadata: { name: 'pay' },
      spec: {
        type: 'http',
        endpoint: 'https://tool.example.com/pay',
        effect: { class: 'external-communication' },
      },
    },
    { profile: 'local', effectDefault: 'declared' },
  )
  if (tool === undefined) throw new Error(JSON.stringify(errors))
  return tool
}
