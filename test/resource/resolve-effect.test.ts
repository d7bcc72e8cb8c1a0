import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Repeat } from '../../src/contract/effect.ts'
import type { ToolSpec } from '../../src/resource/tool.ts'
import { invokeOf, LOCAL, lines, PRODUCTION, refused, resolve, warned } from './support.ts'

const FROM_RISK = { ...LOCAL, effectDefault: 'from-risk' } as const
const DAY = 86_400_000
/** Nothing of the support's own effect. */
const undeclared = (spec: ToolSpec = {}): ToolSpec => ({ ...spec, effect: undefined }) as unknown as ToolSpec
const operations = { invoke: {}, status: { effect: { class: 'read-only' as const } }, undo: {} }
/** Tools that are told which operation they are asked for. */
const external = { type: 'external' as const, operations }

function repeatOf(spec: ToolSpec): Repeat {
  return invokeOf(spec).effect.repeat
}

test('S21: an undeclared effect is never sent again, whatever the risk', () => {
  for (const risk_level of ['low', 'medium', 'high', 'critical'] as const) {
    assert.equal(repeatOf(undeclared({ risk_level })), 'never')
  }
})

test('S21: apply warns with the very line to add', () => {
  const { warnings } = resolve(undeclared())
  assert.deepEqual(lines(warnings), [
    'spec.effect: is not declared: it counts as irreversible, and after a timeout the outcome is unknown',
  ])
  assert.equal(
    warnings[0]?.fix,
    "add 'effect: {class: read-only}' if it only reads, else the class that it has",
  )
  warned({ effect: { determinism: 'idempotent' } }, 'spec.effect', /has no class/)
  assert.deepEqual(lines(resolve({ effect: { class: 'read-only' } }).warnings), [])
})

test('S21: a declared operation_classes of exactly read earns a retry; a default one does not', () => {
  assert.deepEqual(lines(resolve(undeclared({ operation_classes: ['read'] })).warnings), [])
  const read = invokeOf(undeclared({ operation_classes: ['read'] }))
  assert.deepEqual(
    [read.effect.repeat, read.effect.class, read.effect.determinism],
    ['read', 'read-only', 'idempotent'],
  )
  assert.equal(repeatOf(undeclared({ operation_classes: ['read', 'write'] })), 'never')
  assert.equal(invokeOf(undeclared({ operation_classes: ['write', 'admin'] })).effect.class, 'administrative')
  assert.equal(invokeOf(undeclared({ operation_classes: ['delete'] })).effect.class, 'irreversible')
})

test('S21: permission classes follow the declared effect, else the risk as in 002', () => {
  const classes = (spec: ToolSpec) => invokeOf(spec).classes
  assert.deepEqual(classes(undeclared()), ['read'])
  assert.deepEqual(classes(undeclared({ risk_level: 'medium' })), ['read'])
  assert.deepEqual(classes(undeclared({ risk_level: 'high' })), ['write'])
  assert.deepEqual(classes(undeclared({ risk_level: 'critical' })), ['write'])
  assert.deepEqual(classes({ risk_level: 'high', effect: { class: 'read-only' } }), ['read'])
  assert.deepEqual(classes({ effect: { class: 'external-communication' } }), ['write'])
  assert.deepEqual(classes({ effect: { class: 'administrative' } }), ['admin'])
  assert.deepEqual(
    classes({ operation_classes: ['write', 'delete', 'write'], effect: { class: 'irreversible' } }),
    ['write', 'delete'],
  )
})

test('S21: from-risk restores the reading of 002 for undeclared effects only', () => {
  const effect = (spec: ToolSpec) => invokeOf(spec, FROM_RISK).effect.repeat
  assert.equal(effect(undeclared()), 'read')
  assert.equal(effect(undeclared({ risk_level: 'medium' })), 'read')
  assert.equal(effect(undeclared({ risk_level: 'high' })), 'never')
  assert.equal(effect({ effect: { class: 'irreversible' } }), 'never')
  assert.equal(effect({ effect: { key: 'required' } }), 'never')
  assert.deepEqual(lines(resolve(undeclared(), FROM_RISK).warnings), [])
})

test('S22: each declaration has its row of the table', () => {
  const rows: readonly (readonly [ToolSpec['effect'], Repeat])[] = [
    [{ class: 'read-only' }, 'read'],
    [{ determinism: 'pure' }, 'read'],
    [{ class: 'code-execution', determinism: 'pure' }, 'read'],
    [{ class: 'external-communication', idempotency: 'natural' }, 'natural'],
    [{ class: 'external-communication', determinism: 'idempotent' }, 'natural'],
    [{ class: 'external-communication', idempotency: { keyed: { retention: '24h' } } }, 'keyed'],
    [
      {
        class: 'external-communication',
        idempotency: { keyed: { retention: '24h' } },
        status_query: 'status',
      },
      'keyed',
    ],
    [{ class: 'external-communication', status_query: 'status' }, 'query'],
    [{ class: 'external-communication', two_phase: { commit: 'undo', rollback: 'status' } }, 'two-phase'],
    [{ class: 'external-communication', idempotency: 'none' }, 'never'],
    [{ class: 'external-communication', idempotency: 'key-required' }, 'never'],
    [{ class: 'external-communication', determinism: 'side_effectful' }, 'never'],
    [{ class: 'administrative' }, 'never'],
    [{}, 'never'],
  ]
  for (const [effect, repeat] of rows)
    assert.equal(repeatOf({ ...external, effect } as ToolSpec), repeat, JSON.stringify(effect))
})

test('S22: a key needs to know how long the tool remembers it, and has a header that may carry it', () => {
  const keyed = (more: object) =>
    ({
      effect: { class: 'administrative', idempotency: { keyed: { retention: '24h', ...more } } },
    }) as ToolSpec
  assert.deepEqual(invokeOf(keyed({})).effect.keyed, { header: 'Idempotency-Key', retentionMs: DAY })
  assert.deepEqual(invokeOf(keyed({ header: 'X-Key', retention: '90s' })).effect.keyed, {
    header: 'X-Key',
    retentionMs: 90_000,
  })
  assert.equal(invokeOf(keyed({})).effect.determinism, 'idempotent')
  const path = 'spec.effect.idempotency.keyed'
  refused(keyed({ retention: '0s' }), `${path}.retention`, /more than zero/)
  for (const header of ['Authorization', 'host', 'a b', '', 'a\r\nb'])
    refused(keyed({ header }), `${path}.header`, /cannot carry a key/)
})

test('S15: a key can be demanded in both spellings', () => {
  assert.equal(invokeOf({ effect: { class: 'administrative', key: 'required' } }).effect.keyRequired, true)
  assert.equal(
    invokeOf({ effect: { class: 'administrative', idempotency: 'key-required' } }).effect.keyRequired,
    true,
  )
  assert.equal(invokeOf({ effect: { class: 'administrative', key: 'optional' } }).effect.keyRequired, false)
})

test('S14: identity is a list of fields, or says window and what happens', () => {
  const identity = (value: unknown) =>
    invokeOf({ effect: { class: 'irreversible', identity: value } } as ToolSpec).effect.identity
  assert.deepEqual(identity(['to', 'amount', '/to']), {
    fields: ['/amount', '/to'],
    windowMs: DAY,
    onRepeat: 'block',
  })
  assert.deepEqual(identity({ fields: ['order.id'], window: '1h', on_repeat: 'replay' }), {
    fields: ['/order/id'],
    windowMs: 3_600_000,
    onRepeat: 'replay',
  })
})

test('S14: the fields of an identity must be able to be there', () => {
  const input_schema = { type: 'object', properties: { to: { type: 'string' } } }
  const spec = (identity: unknown) =>
    ({ input_schema, effect: { class: 'irreversible', identity } }) as ToolSpec
  refused(spec(['to', 'too']), 'spec.effect.identity[1]', /'too' is not in input_schema/)
  refused(spec({ fields: ['to.name'] }), 'spec.effect.identity.fields[0]', /is not in input_schema/)
  refused(spec({ fields: ['to'], window: '0s' }), 'spec.effect.identity.window', /more than zero/)
  refused(spec({ fields: ['to'], window: '9601h' }), 'spec.effect.identity.window', /longer than 9600h/)
  refused(
    { effect: { class: 'read-only', identity: ['a'] } },
    'spec.effect.identity',
    /no meaning for a tool that only reads/,
  )
})

test('S14: irreversible and financial tools without identity: a warning, in production an error', () => {
  for (const name of ['irreversible', 'financial-high-impact'] as const) {
    warned({ effect: { class: name } }, 'spec.effect.identity', /is missing/)
    refused({ effect: { class: name } }, 'spec.effect.identity', /is missing/, PRODUCTION)
    assert.deepEqual(lines(resolve({ effect: { class: name, identity: ['a'] } }, PRODUCTION).errors), [])
  }
  assert.deepEqual(lines(resolve({ effect: { class: 'external-communication' } }, PRODUCTION).errors), [])
})

test('S23: refused_on replaces the list, sorted and without repeats', () => {
  assert.deepEqual(
    invokeOf({ effect: { class: 'administrative', refused_on: [422, 400, 422] } }).effect.refusedOn,
    [400, 422],
  )
  assert.deepEqual(invokeOf({ effect: { class: 'administrative', refused_on: [] } }).effect.refusedOn, [])
})

test('S50: a reversible write has a way back', () => {
  refused({ effect: { class: 'reversible-write' } }, 'spec.effect.compensation', /is missing/)
  refused(
    { effect: { class: 'reversible-write', compensation: 'none' } },
    'spec.effect.compensation',
    /is missing/,
  )
  assert.equal(
    repeatOf({ effect: { class: 'reversible-write', compensation: { tool: 'undo-it' } } }),
    'never',
  )
  assert.equal(
    repeatOf({ ...external, effect: { class: 'reversible-write', compensation: 'undo' } }),
    'never',
  )
})

test('S50: declarations that contradict each other are refused', () => {
  refused(
    { effect: { class: 'read-only', determinism: 'side_effectful' } },
    'spec.effect.determinism',
    /contradicts class read-only/,
  )
  refused(
    { effect: { class: 'administrative', determinism: 'pure' } },
    'spec.effect.determinism',
    /pure contradicts class administrative/,
  )
  refused(
    { effect: { class: 'administrative', determinism: 'side_effectful', idempotency: 'natural' } },
    'spec.effect.idempotency',
    /contradicts determinism/,
  )
  refused(
    {
      effect: {
        class: 'administrative',
        determinism: 'side_effectful',
        idempotency: { keyed: { retention: '1h' } },
      },
    },
    'spec.effect.idempotency',
    /contradicts determinism/,
  )
  refused(
    { effect: { class: 'administrative', determinism: 'idempotent', idempotency: 'none' } },
    'spec.effect.idempotency',
    /none contradicts/,
  )
  refused(
    { operation_classes: ['write'], effect: { class: 'read-only' } },
    'spec.effect',
    /contradicts operation_classes: \[write\]/,
  )
  refused(
    { operation_classes: ['read'], effect: { class: 'administrative' } },
    'spec.effect',
    /contradicts operation_classes: \[read\]/,
  )
})

test('S26: a two-phase effect has something to commit', () => {
  const effect = {
    class: 'administrative',
    two_phase: { commit: 'undo', rollback: 'status', deadline: '30s' },
  } as const
  const spec = { ...external, effect }
  assert.equal(repeatOf(spec), 'two-phase')
  refused({ ...spec, effect: { ...effect, class: 'read-only' } }, 'spec.effect.two_phase', /only reads/)
  refused(
    { ...spec, effect: { ...effect, idempotency: 'natural' } },
    'spec.effect.two_phase',
    /contradicts idempotency natural/,
  )
  warned(
    { ...spec, effect: { ...effect, idempotency: { keyed: { retention: '1h' } } } },
    'spec.effect.idempotency',
    /not used beside two_phase/,
  )
  refused(
    { ...spec, effect: { ...effect, two_phase: { ...effect.two_phase, deadline: '0s' } } },
    'spec.effect.two_phase.deadline',
    /more than zero/,
  )
})

test('a status query of a tool that only reads is not asked, and apply says so', () => {
  const spec = { ...external, effect: { class: 'read-only', status_query: 'status' } } as const
  warned(spec, 'spec.effect.status_query', /only reads/)
  assert.equal(invokeOf(spec).effect.statusQuery, undefined)
})

test('S27: a named operation says exactly one way, and one that is there', () => {
  const ask = (status_query: unknown): ToolSpec =>
    ({ ...external, effect: { class: 'administrative', status_query } }) as ToolSpec
  const path = 'spec.effect.status_query'
  refused(ask('stats'), path, /has no operation 'stats'/)
  refused(ask({ operation: 'stats' }), `${path}.operation`, /has no operation/)
  refused(ask({}), path, /exactly one of operation or url/)
  const url = { url: 'https://a.example.com/{key}', state: '/state', done: 'ok', not_done: ['no', 'gone'] }
  refused(ask({ operation: 'status', method: 'POST' }), `${path}.method`, /no url/)
  refused(ask(url), `${path}.url`, /only read for type http/)
})

test('S27: the address of a named operation is checked as the endpoint is', () => {
  const egress = { allow: ['https://*.example.com', 'http://localhost'] }
  const ask = (status_query: unknown): ToolSpec =>
    ({ egress, effect: { class: 'administrative', status_query } }) as ToolSpec
  const path = 'spec.effect.status_query'
  const url = { url: 'https://a.example.com/{key}', state: '/state', done: 'ok', not_done: ['no', 'gone'] }
  assert.equal(repeatOf(ask(url)), 'query')
  const { egress: _list, ...without } = ask(url)
  refused(without, `${path}.url`, /of another origin than the endpoint/)
  assert.equal(repeatOf({ ...without, endpoint: 'https://a.example.com/x' }), 'query')
  refused({ ...ask(url), risk_level: 'high' }, `${path}.url`, /all that isolation sandboxed reaches/)
  refused({ ...ask('status'), operations }, path, /sends every operation to the same address/)
  refused(ask({ ...url, url: 'https://a.example.com/' }), `${path}.url`, /which call it is about/)
  refused(ask({ ...url, url: '/status/{key}' }), `${path}.url`, /no absolute http/)
  refused(ask({ ...url, url: 'https://me:pw@a.example.com/{key}' }), `${path}.url`, /without user name/)
  refused(ask({ ...url, state: 'state' }), `${path}.state`, /no JSON pointer/)
  refused(ask({ ...url, quiet: 'x' }), `${path}.quiet`, /no duration/)
  refused(ask({ ...url, output: 'x' }), `${path}.output`, /no JSON pointer/)
  refused(ask({ ...url, running: 'ok' }), path, /'ok' has two meanings/)
  refused(ask({ ...url, url: 'https://{key}.example.com/' }), `${path}.url`, /another host for every call/)
  refused(ask({ ...url, url: 'https://a.example.com/{id}/{key}' }), `${path}.url`, /placeholder other than/)
  refused(ask({ ...url, url: 'https://a.example.com/{token}' }), `${path}.url`, /no token yet/)
  refused(ask({ ...url, url: 'https://a.example.com/{key}#x' }), `${path}.url`, /fragment/)
  refused(
    { ...ask(url), egress: { allow: ['https://tool.example.com'] } },
    `${path}.url`,
    /not covered by spec.egress.allow/,
  )
  refused(ask({ ...url, url: 'http://localhost/{key}' }), `${path}.url`, /on this machine/, PRODUCTION)
  warned(ask({ ...url, fencing: true, quiet: '1s' }), `${path}.quiet`, /not waited for/)
  // A request with a body says there which call it is about.
  assert.equal(repeatOf(ask({ ...url, method: 'POST', url: 'https://a.example.com/status' })), 'query')
})
