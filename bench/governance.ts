// What the governance stages cost a call: the same calls with more and more that governs them, as a multiple of the
// processor time of calls that nothing but a permission governs.
import { join } from 'node:path'
import { createLocalAdmin } from '../src/contract/caller.ts'
import { defineTool } from '../src/define-tool.ts'
import { createRuntime } from '../src/runtime.ts'
import type { CallerDoor, Runtime } from '../src/runtime-api.ts'
import { type Contestant, type Measured, measure } from './measure.ts'

interface Way {
  readonly name: string
  readonly documents: readonly object[]
  /** Of the tools. */
  readonly triggers?: readonly object[]
  /** Somebody agrees beforehand to what the triggers ask for. */
  readonly grant?: true
}

interface Place {
  readonly way: Way
  readonly runtime: Runtime
  readonly door: CallerDoor
}

const TOOLS = ['read', 'write'] as const
const AGENT = 'agent-7'
const IN_FLIGHT = 16
const input = { query: 'latest market analysis', limit: 10, to: 'team@example.com' }

export async function governanceBench(options: { readonly folder: string; readonly quick: boolean }) {
  for (const store of ['memory', 'sqlite'] as const) {
    const places: Place[] = []
    for (const [index, way] of WAYS.entries())
      places.push(await open(way, store, join(options.folder, `governance-${index}.db`)))
    for (const tool of TOOLS) {
      const contestants = places
        .filter(({ way }) => tool === 'write' || way.grant === undefined)
        .map(contest(tool))
      const calls = options.quick ? 400 : 4_000
      print(
        `governance of a native ${tool}, ${store}`,
        await measure(contestants, IN_FLIGHT, { calls, rounds: 5 }),
      )
    }
    for (const { runtime } of places) await runtime.close()
  }
}

function contest(tool: string): (place: Place) => Contestant {
  return ({ way, door }) => ({
    name: way.name,
    async run() {
      const answer = await door.call({ tool, input })
      if (answer.state !== 'succeeded') throw new Error(JSON.stringify(answer))
    },
  })
}

async function open(way: Way, store: 'memory' | 'sqlite', path: string): Promise<Place> {
  const tools = TOOLS.map((name) =>
    defineTool({
      name,
      input: { type: 'object', properties: PROPERTIES, required: ['query'] },
      effect: { class: name === 'read' ? 'read-only' : 'external-communication' },
      ...(way.triggers === undefined ? {} : { spec: { approval_triggers: way.triggers } as never }),
      handler: (() => ({ found: 10 })) as never,
    }),
  )
  const runtime = await createRuntime({
    tools,
    store: store === 'memory' ? { kind: store } : { kind: store, path },
  })
  const text = way.documents.map((document) => JSON.stringify(document)).join('\n---\n')
  const applied = text === '' ? undefined : await runtime.resources.apply([{ text, file: 'bench' }])
  if (applied?.ok === false) throw new Error(JSON.stringify(applied.problems))
  if (way.grant === true) {
    const made = await runtime.as(createLocalAdmin()).makeGrant({ tool: 'write', ttlMs: 3_600_000 })
    if (made.kind !== 'ok') throw new Error(JSON.stringify(made))
  }
  const permissions = TOOLS.map((name) => `tool:${name}:invoke`)
  const held = way.documents.length === 0 ? { permissions } : { roles: ['analyst'] }
  return { way, runtime, door: runtime.as({ actor: AGENT, kind: 'agent', ...held }) }
}

/** Each line's processor time as a multiple of the first line's. */
function print(title: string, lines: readonly Measured[]): void {
  console.log(`\n${title}`)
  console.log(
    `${'in flight'.padStart(9)}  ${'governed by'.padEnd(34)}${['ratio', 'cpu us', 'p50 us', 'p99 us'].map((head) => head.padStart(10)).join('')}`,
  )
  const base = lines[0]?.cpuUs ?? 1
  for (const { inFlight, name, cpuUs, p50Us, p99Us } of lines) {
    const cells = [(cpuUs / base).toFixed(2), cpuUs.toFixed(0), p50Us.toFixed(0), p99Us.toFixed(0)]
    console.log(
      `${String(inFlight).padStart(9)}  ${name.padEnd(34)}${cells.map((cell) => cell.padStart(10)).join('')}`,
    )
  }
}

const PROPERTIES = { query: { type: 'string' }, limit: { type: 'integer' }, to: { type: 'string' } } as const

function document(kind: string, name: string, spec: object): object {
  return { apiVersion: 'writ.dev/v1', kind, metadata: { name }, spec }
}

const EVERYBODY = { apply_mode: 'global' }

/** 3 roles, 10 permissions, 5 policies: about these tools and about others, none of them in the way. */
const TYPICAL: readonly object[] = [
  document('AgentRole', 'reader', { permissions: ['tool:read:invoke', 'capability:search'] }),
  document('AgentRole', 'analyst', { inherits: ['reader'], permissions: ['tool:write:invoke'] }),
  document('AgentRole', 'lead', { inherits: ['analyst'], permissions: ['approval:decide'] }),
  ...TOOLS.map((name) =>
    document('ToolPermission', `${name}-classes`, {
      tool_ref: name,
      ...EVERYBODY,
      required_permissions: ['capability:search'],
      operation_rules: [
        { operation_class: 'read', verdict: 'allow' },
        { operation_class: 'delete', verdict: 'deny' },
      ],
    }),
  ),
  ...Array.from({ length: 8 }, (_, index) =>
    document('ToolPermission', `other-${index}`, {
      tool_ref: `other-${index}`,
      ...EVERYBODY,
      operation_rules: [{ operation_class: 'write', verdict: 'approval_required' }],
    }),
  ),
  document('AgentPolicy', 'large', {
    ...EVERYBODY,
    rules: [
      { when: [{ field: '/limit', op: 'gt', value: 1_000 }], decision: 'deny' },
      { when: [{ field: '/limit', op: 'gt', value: 100 }], decision: 'require-approval' },
    ],
  }),
  document('AgentPolicy', 'outside', {
    ...EVERYBODY,
    rules: [{ when: [{ field: '/to', op: 'in', value: ['press@example.com'] }], decision: 'escalate' }],
  }),
  document('AgentPolicy', 'bounds', {
    ...EVERYBODY,
    target_tools: ['read', 'write'],
    transforms: [{ clamp: { field: '/limit', max: 500 } }],
  }),
  document('AgentPolicy', 'of-the-agent', {
    target_agents: [AGENT],
    rules: [{ operation_classes: ['delete', 'admin'], decision: 'deny' }],
  }),
  document('AgentPolicy', 'blocked', { ...EVERYBODY, blocked_tools: ['shell', 'shell-*'] }),
]

const BUDGET = document('AgentPolicy', 'budget', {
  ...EVERYBODY,
  budgets: [{ per: 'caller', period: '24h', calls: true, max: 1_000_000_000 }],
})

const CEDAR = document('AgentPolicy', 'cedar', {
  ...EVERYBODY,
  target_tools: ['read', 'write'],
  cedar:
    'forbid (principal, action, resource) when { context.input has limit && context.input.limit > 1000 };',
})

const QUIET = [
  { field: '/limit', op: 'gt', value: 100 },
  { field: '/to', op: 'eq', value: 'press@example.com' },
]

const WAYS: readonly Way[] = [
  { name: 'permissions of the caller alone', documents: [] },
  { name: 'a typical set', documents: TYPICAL },
  { name: 'typical, triggers', documents: TYPICAL, triggers: QUIET },
  { name: 'typical, a budget', documents: [...TYPICAL, BUDGET] },
  { name: 'typical, Cedar', documents: [...TYPICAL, CEDAR] },
  {
    name: 'typical, a grant for a trigger',
    documents: TYPICAL,
    triggers: [{ field: '/limit', op: 'gt', value: 5 }],
    grant: true,
  },
]
