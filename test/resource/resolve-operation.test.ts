import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FIELDS } from '../../src/resource/field-table.ts'
import type { ToolSpec } from '../../src/resource/tool.ts'
import { invokeOf, loose, refused, refusesCalls, resolve, resolved } from './support.ts'

const input_schema = { type: 'object', properties: { amount: { type: 'number' }, to: { type: 'string' } } }

test('S4: a tool without operations has one, invoke, made of its own fields', () => {
  const spec: ToolSpec = { input_schema, output_schema: { type: 'object' }, description: 'Pays.' }
  const { operations } = resolved(spec)
  assert.deepEqual(Object.keys(operations), ['invoke'])
  assert.deepEqual(operations.invoke?.inputSchema, input_schema)
  assert.equal(operations.invoke?.description, 'Pays.')
})

test('S4: an operation takes from the tool what it does not say', () => {
  const { operations } = resolved({
    description: 'tool',
    input_schema,
    runtime: { timeout: '9s', retry: { max_attempts: 3, backoff: '1s' } },
    limits: { timeout_max: '20s' },
    errors: [{ code: 'a', effect: 'none' }],
    approval_triggers: [{ field: 'amount', op: 'gt', value: 1 }],
    operations: {
      plain: {},
      own: {
        description: 'own',
        input_schema: { type: 'object', properties: { amount: {}, x: {} } },
        effect: { class: 'external-communication' },
        timeout: '2s',
        retry: { max_attempts: 5 },
        limits: { timeout_max: '3s' },
        errors: [
          { code: 'b', effect: 'none' },
          { code: 'c', effect: 'partial' },
          { code: 'a', effect: 'none' },
        ],
        approval_triggers: [{ field: 'x', op: 'exists' }],
      },
    },
  })
  const { plain, own } = operations
  assert.deepEqual([plain?.timeoutMs, plain?.timeoutMaxMs, plain?.description], [9_000, 20_000, 'tool'])
  assert.deepEqual(plain?.inputSchema, input_schema)
  assert.deepEqual(plain?.harmlessErrors, ['a'])
  assert.deepEqual([own?.timeoutMs, own?.timeoutMaxMs, own?.description], [2_000, 3_000, 'own'])
  assert.deepEqual(own?.retry, { maxAttempts: 5, backoffMs: 1_000, maxBackoffMs: 30_000, jitter: 'none' })
  assert.deepEqual(own?.harmlessErrors, ['a', 'b'])
  assert.deepEqual(
    own?.approvalTriggers.map((trigger) => trigger.field),
    ['/amount', '/x'],
  )
  assert.deepEqual([plain?.effect.repeat, own?.effect.repeat], ['read', 'never'])
})

test('what is wrong with a shared block is said once, of an operation at its own place', () => {
  const spec = {
    runtime: { timeout: 'x' },
    effect: { class: 'reversible-write' },
    operations: { a: {}, b: {}, c: { timeout: 'y' } },
  } as ToolSpec
  const paths = resolve(spec).errors.map((error) => error.path.join('.'))
  assert.deepEqual(paths.toSorted(), [
    'spec.effect.compensation',
    'spec.operations.c.timeout',
    'spec.runtime.timeout',
  ])
})

test('S5: schemas are compiled at apply, and errors lead into the schema', () => {
  refused({ input_schema: { type: 'objct' } }, 'spec.input_schema.type', /./)
  refused(
    { output_schema: { type: 'object', properties: { a: { minLength: -1 } } } },
    'spec.output_schema.properties.a.minLength',
    /./,
  )
  refused(
    { operations: { run: { input_schema: { type: 'object', properties: { 'a.b': { pattern: '(' } } } } } },
    'spec.operations.run.input_schema.properties["a.b"].pattern',
    /./,
  )
})

test('S50: a pattern that the linear engine cannot run is refused', () => {
  refused({ input_schema: { type: 'string', pattern: '(a)\\1' } }, 'spec.input_schema.pattern', /./)
  refused({ input_schema: { type: 'string', pattern: '(?=a)b' } }, 'spec.input_schema.pattern', /./)
})

test('a schema that refers to the network is refused', () => {
  const { errors } = resolve({ input_schema: { $ref: 'https://example.com/schema.json' } })
  assert.equal(errors.length, 1)
  assert.deepEqual(errors[0]?.path.slice(0, 2), ['spec', 'input_schema'])
})

test('S33: a schema in a file that was not read refuses calls', () => {
  refusesCalls({ input_schema: 'schema/request.json' }, 'spec.input_schema', 'control-unavailable')
  refusesCalls(
    { operations: { run: { output_schema: 'out.json' } } },
    'spec.operations.run.output_schema',
    'control-unavailable',
  )
})

test('S33: limits of one operation refuse calls, since limits are counted per tool', () => {
  const rows = FIELDS.filter((row) => /^spec\.limits\.\w+$/.test(row.path)).map((row) =>
    row.path.slice('spec.limits.'.length),
  )
  const values: Record<string, unknown> = {
    memory: '1Mi',
    concurrency: 1,
    rate: '1/s',
    input_bytes: 1,
    output_bytes: 1,
  }
  for (const name of rows.filter((one) => one !== 'timeout_max')) {
    const limits = { [name]: values[name] }
    refusesCalls(
      loose({ operations: { run: { limits } } }),
      `spec.operations.run.limits.${name}`,
      'control-unavailable',
    )
  }
})

test('approval triggers are pointers, literal comparisons and reasons', () => {
  const triggers = (...approval_triggers: object[]) => loose({ input_schema, approval_triggers })
  assert.deepEqual(
    invokeOf(
      triggers(
        { field: 'amount', op: 'gt', value: 100, reason: 'much' },
        { field: '/to', op: 'in', value: ['a', 'b'] },
        { field: 'to', op: 'exists', value: false },
        { field: 'to', op: 'ne', value: null },
        { field: 'to', op: 'not_in_domain', value: ['example.com'] },
      ),
    ).approvalTriggers,
    [
      { field: '/amount', op: 'gt', value: 100, reason: 'much' },
      { field: '/to', op: 'in', value: ['a', 'b'] },
      { field: '/to', op: 'exists', value: false },
      { field: '/to', op: 'ne', value: null },
      { field: '/to', op: 'not_in_domain', value: ['example.com'] },
    ],
  )
  const value = 'spec.approval_triggers[0].value'
  refused(triggers({ field: 'amount', op: 'gt' }), value, /does not fit op gt/)
  refused(triggers({ field: 'amount', op: 'gt', value: true }), value, /does not fit/)
  refused(triggers({ field: 'amount', op: 'eq' }), value, /does not fit/)
  refused(triggers({ field: 'amount', op: 'in', value: 'a' }), value, /does not fit/)
  refused(triggers({ field: 'amount', op: 'not_in', value: [] }), value, /does not fit/)
  refused(triggers({ field: 'amount', op: 'exists', value: 1 }), value, /does not fit/)
  for (const domains of [
    'example.com',
    [],
    [5],
    ['Example.com'],
    ['@example.com'],
    ['*.example.com'],
    ['com'],
  ])
    refused(triggers({ field: 'to', op: 'not_in_domain', value: domains }), value, /does not fit/)
  refused(
    triggers({ field: 'amont', op: 'exists' }),
    'spec.approval_triggers[0].field',
    /is not in input_schema/,
  )
  refused(triggers({ field: '', op: 'exists' }), 'spec.approval_triggers[0].field', /names no input field/)
})

test('a trigger of the tool may be meant for one of its operations', () => {
  const { operations } = resolved({
    approval_triggers: [{ field: 'amount', op: 'gt', value: 1 }],
    operations: { pay: { input_schema }, look: { input_schema: { type: 'object', properties: { id: {} } } } },
  })
  assert.equal(operations.look?.approvalTriggers.length, 1, 'it cannot be judged there, so it asks')
})

test('S23: only errors that are declared to have no effect are harmless', () => {
  const errors = [{ code: 'none', effect: 'none' }, { code: 'done', effect: 'done' }, { code: 'silent' }]
  assert.deepEqual(invokeOf(loose({ errors })).harmlessErrors, ['none'])
  assert.deepEqual(invokeOf({ errors: 'errors.md' }).harmlessErrors, [])
})
