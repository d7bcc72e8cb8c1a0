// What named operations resolve to (S27): rules of the effect, and internal operations for those with an address.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRepeatHarmless } from '../../src/contract/projection.ts'
import type { ToolSpec } from '../../src/resource/tool.ts'
import { invokeOf, loose, problemsOf, refused, resolve, resolved, warned } from './support.ts'

const BASE = 'https://tool.example.com'
const TWO_PHASE = {
  class: 'external-communication',
  two_phase: {
    commit: { url: `${BASE}/commit/{token}` },
    rollback: { method: 'DELETE', url: `${BASE}/prepared/{key}` },
  },
} as const

test('S27: a status query that is only named has every default', () => {
  const operations = { invoke: {}, status: { effect: { class: 'read-only' as const } } }
  const effect = { class: 'external-communication' as const, status_query: 'status' }
  assert.deepEqual(invokeOf({ type: 'external', operations, effect }).effect.statusQuery, {
    operation: 'status',
    state: '/state',
    done: ['done'],
    notDone: ['not_done'],
    running: ['running'],
    output: '/output',
    fencing: false,
    quietMs: 5_000,
    deadlineMs: 86_400_000,
  })
})

test('S27: what it declares wins over the defaults', () => {
  const status_query = {
    url: `${BASE}/status/{key}`,
    state: '/s',
    done: [1, true],
    not_done: 'no',
    output: '/result',
    fencing: true,
    deadline: '1h',
  }
  const tool = resolved({
    effect: { class: 'external-communication', status_query },
    runtime: { timeout: '3s' },
  })
  const query = tool.operations.invoke?.effect.statusQuery
  assert.deepEqual(
    [
      query?.operation,
      query?.state,
      query?.done,
      query?.notDone,
      query?.output,
      query?.fencing,
      query?.deadlineMs,
    ],
    ['$status', '/s', [1, true], ['no'], '/result', true, 3_600_000],
  )
  const asked = tool.operations.$status
  assert.deepEqual(asked?.request, { method: 'GET', url: `${BASE}/status/{key}` })
  assert.deepEqual([asked?.internal, asked?.timeoutMs, asked?.effect.repeat], [true, 3_000, 'read'])
})

test('S26: two-phase addresses become internal operations, each with its own rule of S22', () => {
  const tool = resolved({ effect: TWO_PHASE })
  assert.deepEqual(tool.operations.invoke?.effect.twoPhase, {
    commit: '$commit',
    rollback: '$rollback',
    rolledBackOn: [404, 410],
    deadlineMs: 600_000,
  })
  assert.deepEqual(tool.operations.$commit?.request, { method: 'POST', url: `${BASE}/commit/{token}` })
  assert.equal(tool.operations.$commit?.effect.repeat, 'never')
  assert.equal(tool.operations.$rollback?.effect.repeat, 'natural')
  assert.deepEqual(tool.unenforced, [])
  const rule = tool.operations.invoke?.effect
  assert.ok(rule && isRepeatHarmless(rule), 'a prepare may be sent again')
  assert.ok(tool.operations.$commit && !isRepeatHarmless(tool.operations.$commit.effect))
})

test('S26: a rollback may list statuses that acknowledge it', () => {
  const two_phase = { ...TWO_PHASE.two_phase, rollback: { url: `${BASE}/undo`, done: [409, 404] } }
  const effect = { ...TWO_PHASE, two_phase }
  assert.deepEqual(invokeOf(loose({ effect })).effect.twoPhase?.rolledBackOn, [404, 409, 410])
  refused(
    loose({
      effect: { ...effect, two_phase: { ...two_phase, rollback: { url: `${BASE}/undo`, done: ['x'] } } },
    }),
    'spec.effect.two_phase.rollback.done',
    /HTTP statuses/,
  )
})

test('S26: commit and rollback are different things', () => {
  const two_phase = { commit: { url: `${BASE}/x` }, rollback: { url: `${BASE}/x` } }
  refused({ effect: { ...TWO_PHASE, two_phase } }, 'spec.effect.two_phase.rollback', /the same as commit/)
})

test('S27: operations with effects of their own do not share their addresses', () => {
  const ask = (name: string) => ({
    effect: { class: 'external-communication' as const, status_query: { url: `${BASE}/${name}/{key}` } },
  })
  const tool = resolved({ operations: { a: ask('a'), b: ask('b') } })
  assert.deepEqual(Object.keys(tool.operations), ['a', 'b', 'a$status', 'b$status'])
  assert.equal(tool.operations.a?.effect.statusQuery?.operation, 'a$status')
  assert.equal(tool.operations.b$status?.request?.url, `${BASE}/b/{key}`)
})

test('S27: an address of its own is refused at apply for every type that is not asked over HTTP, with its path', () => {
  const ways = {
    'effect.status_query': { class: 'external-communication', status_query: { url: `${BASE}/s/{key}` } },
    'effect.compensation': { class: 'reversible-write', compensation: { url: `${BASE}/undo/{key}` } },
    'effect.two_phase.commit': {
      class: 'external-communication',
      two_phase: { commit: { url: `${BASE}/commit/{token}` }, rollback: 'undo' },
    },
    'effect.two_phase.rollback': {
      class: 'external-communication',
      two_phase: { commit: 'do', rollback: { url: `${BASE}/undo/{key}` } },
    },
  }
  const operations = { invoke: {}, do: {}, undo: {} }
  const types = {
    grpc: { endpoint: 'tool.example.com:443' },
    external: { endpoint: BASE },
    'webhook-callback': { endpoint: BASE },
  }
  for (const [type, rest] of Object.entries(types)) {
    for (const [way, effect] of Object.entries(ways)) {
      const spec = loose({ type, ...rest, operations, effect })
      refused(spec, `spec.${way}.url`, new RegExp(`only read for type http, not ${type}$`))
      assert.match(resolve(spec).errors[0]?.fix ?? '', /name an operation that the tool declares/)
    }
  }
})

test('S4: an operation that serves the others is not two-phase itself, though it takes its effect from the tool', () => {
  const spec: ToolSpec = {
    type: 'external',
    operations: { invoke: {}, commit: {}, undo: {} },
    effect: { class: 'external-communication', two_phase: { commit: 'commit', rollback: 'undo' } },
  }
  const { operations } = resolved(spec)
  assert.equal(operations.invoke?.effect.repeat, 'two-phase')
  assert.deepEqual(
    [operations.commit?.effect.repeat, operations.commit?.effect.twoPhase],
    ['never', undefined],
  )
  const own = {
    effect: { class: 'irreversible', identity: ['a'], two_phase: { commit: 'run', rollback: 'undo' } },
  }
  refused(
    loose({
      ...spec,
      effect: undefined,
      operations: { run: own, undo: { effect: { class: 'administrative' } } },
    }),
    'spec.operations.run.effect.two_phase.commit',
    /is the operation itself/,
  )
})

test('S27: a name with $ cannot be declared, so that no internal operation is anybody else’s', () => {
  const text = (name: string) => `apiVersion: writ.dev/v1
kind: Tool
metadata: {name: probe}
spec:
  endpoint: ${BASE}
  operations: {${name}: {effect: {class: read-only}}}
`
  assert.deepEqual(problemsOf(text('status')), [])
  assert.match(problemsOf(text('$status'))[0] ?? '', /spec\.operations/)
})

test('S29: a compensation is an operation, another tool or an address', () => {
  const compensation = (declared: unknown) =>
    invokeOf(loose({ effect: { class: 'reversible-write', compensation: declared } })).effect.compensation
  assert.deepEqual(compensation({ tool: 'refund' }), {
    tool: 'refund',
    operation: 'invoke',
    requiresApproval: false,
  })
  const input_map = { id: '/output/id', why: 'undone', parts: ['/input/a~1b'], path: '/inputs' }
  assert.deepEqual(compensation({ tool: 'bank', operation: 'refund', input_map, requires_approval: true }), {
    tool: 'bank',
    operation: 'refund',
    inputMap: input_map,
    requiresApproval: true,
  })
  assert.deepEqual(compensation({ url: `${BASE}/undo` }), {
    operation: '$compensation',
    requiresApproval: false,
  })
  const effect = (declared: object) =>
    loose({ effect: { class: 'reversible-write', compensation: declared } })
  refused(
    effect({ tool: 'a', url: `${BASE}/undo` }),
    'spec.effect.compensation',
    /exactly one of operation, tool or url/,
  )
  refused(
    effect({ tool: 'a', input_map: { a: ['/output/~2'] } }),
    'spec.effect.compensation.input_map.a[0]',
    /no JSON pointer/,
  )
  refused(
    {
      ...effect({ tool: 'a', input_map: { a: '/input/b' } }),
      input_schema: { type: 'object', properties: {} },
    },
    'spec.effect.compensation.input_map.a',
    /not in input_schema/,
  )
  warned(effect({ tool: 'a', state: '/x' }), 'spec.effect.compensation.state', /only read in a status_query/)
})

test('S27: the only operation of a tool is not asked about itself, declared or not', () => {
  const names = {
    status_query: { class: 'external-communication', status_query: 'invoke' },
    compensation: { class: 'reversible-write', compensation: 'invoke' },
  }
  for (const [way, effect] of Object.entries(names)) {
    for (const type of ['external', 'http']) {
      for (const operations of [undefined, { invoke: {} }])
        refused(loose({ type, operations, effect }), `spec.effect.${way}`, /is the operation itself/)
    }
  }
})
