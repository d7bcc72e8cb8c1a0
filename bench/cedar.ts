// What Cedar costs a call: slices of 1 to 1,000 policies, and a small slice in a namespace with many policies.
import { createCaller } from '../src/contract/caller.ts'
import { type CedarEngine, createCedarEngine } from '../src/governance/cedar/cedar-engine.ts'
import { compileCedar } from '../src/governance/cedar/compile-cedar.ts'
import type { Facts } from '../src/governance/rules.ts'
import { resolveTool } from '../src/resource/resolve-tool.ts'
import type { GovernanceSet } from '../src/resource/resolved-governance.ts'
import type { ResolvedTool } from '../src/resource/resolved-tool.ts'

interface Case {
  readonly name: string
  readonly policies: number
  /** Policies whose scope matches the call. */
  readonly inSlice: number
}

const CASES: readonly Case[] = [
  ...[1, 10, 100, 1_000].map((count) => ({ name: 'all in the slice', policies: count, inSlice: count })),
  { name: '5 in the slice', policies: 1_000, inSlice: 5 },
  { name: 'none in the slice', policies: 1_000, inSlice: 0 },
]

export function cedarBench({ quick }: { readonly quick: boolean }): void {
  console.log('\nCedar: one call')
  const heads = ['ratio', 'cpu us', 'p50 us', 'p99 us', 'apply ms', 'first us']
  console.log(
    `${'policies'.padStart(9)}  ${'slice'.padEnd(18)}${heads.map((head) => head.padStart(10)).join('')}`,
  )
  const engine = createCedarEngine()
  const calls = quick ? 40 : 400
  // The first calls of an engine are slower, until its code is compiled.
  for (const one of CASES) measured(engine, one, quick ? 20 : 200)
  const lines = CASES.map((one) => ({ ...one, ...measured(engine, one, calls) }))
  // By processor time, which the rest of the machine disturbs least.
  const base = lines[0]?.cpuUs ?? 1
  for (const { name, policies, cpuUs, p50, p99, applyMs, firstUs } of lines) {
    const cells = [cpuUs / base, cpuUs, p50, p99, applyMs, firstUs].map((value, index) =>
      value.toFixed(index === 0 ? 2 : 0).padStart(10),
    )
    console.log(`${String(policies).padStart(9)}  ${name.padEnd(18)}${cells.join('')}`)
  }
}

function measured(engine: CedarEngine, { policies, inSlice }: Case, calls: number) {
  const text = Array.from({ length: policies }, (_, index) => {
    const who = index < inSlice ? 'principal' : `principal in Writ::Role::"role-${index}"`
    const when = `context.input.amount.greaterThan(decimal("${1_000 + index}.5")) && context.time.hour >= 0`
    return `forbid (${who}, action in Writ::Action::"write", resource == Writ::Tool::"pay") when { ${when} };`
  })
    // A text of its own each time: the engine remembers what it has read.
    .concat(`// ${calls}`)
    .join('\n')
  const began = performance.now()
  const compiled = compileCedar(setOf(text), engine)
  const applyMs = performance.now() - began
  if (compiled === undefined) throw new Error('there is Cedar to compile')
  const facts = factsOf(payTool())
  const run = () => {
    const from = performance.now()
    if (compiled.matches(facts).length > 0) throw new Error('expected nothing to match')
    return (performance.now() - from) * 1_000
  }
  const firstUs = run()
  for (let index = 0; index < calls / 4; index++) run()
  const before = process.cpuUsage()
  const latencies = Float64Array.from({ length: calls }, run).sort()
  const { user, system } = process.cpuUsage(before)
  const cpuUs = (user + system) / calls
  const at = (part: number) => latencies[Math.floor(latencies.length * part)] ?? 0
  return { cpuUs, p50: at(0.5), p99: at(0.99), applyMs, firstUs }
}

function payTool(): ResolvedTool {
  const properties = { amount: { type: 'number' }, to: { type: 'string' } }
  const { tool } = resolveTool(
    {
      apiVersion: 'writ.dev/v1',
      kind: 'Tool',
      metadata: { name: 'pay' },
      spec: {
        type: 'http',
        endpoint: 'https://bank.example/pay',
        effect: { class: 'external-communication' },
        input_schema: { type: 'object', properties, required: ['amount'] },
      },
    },
    { profile: 'local', effectDefault: 'declared' },
  )
  if (tool === undefined) throw new Error('the tool does not resolve')
  return tool
}

function factsOf(tool: ResolvedTool): Facts {
  const { invoke } = tool.operations
  if (invoke === undefined) throw new Error('the tool has no operation')
  const caller = createCaller({ actor: 'agent-7', kind: 'agent' })
  return { caller, tool, operation: invoke, input: { amount: 12.5, to: 'x' }, now: 0, also: [] }
}

function setOf(cedar: string): GovernanceSet {
  return {
    roles: [],
    permissions: [],
    policies: [
      {
        namespace: 'default',
        name: 'bench',
        version: '1',
        mode: 'enforce',
        targets: { applyMode: 'global', agents: [], systems: [], tasks: [] },
        targetTools: [],
        blockedTools: [],
        rules: [],
        cedar,
        transforms: [],
        budgets: [],
        approval: { quorum: 1, ttlMs: 600_000 },
        notEnforced: [],
      },
    ],
  }
}
