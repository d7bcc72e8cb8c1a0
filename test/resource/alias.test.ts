import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FieldAlias } from '../../src/resource/field-row.ts'
import { FIELDS } from '../../src/resource/field-table.ts'
import { formatProblem, readManifestValue } from '../../src/resource/manifest.ts'
import type { ToolSpec } from '../../src/resource/tool.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { documentOf, problemsOf } from './support.ts'

/** What to write for an alias, and what has to be read: one line for each of them. */
const SAMPLES: Readonly<Record<string, readonly [written: Json, read: Json]>> = {
  'spec.toolId': ['other', 'other'],
  'spec.tool_id': ['other', 'other'],
  'metadata.owner': ['team', 'team'],
  'metadata.version': ['1.2.3', '1.2.3'],
  'spec.semver': ['1.2.3', '1.2.3'],
  'spec.inputSchema': [{ type: 'object' }, { type: 'object' }],
  'spec.outputSchema': [{ type: 'object' }, { type: 'object' }],
  'spec.schema.request': ['request.json', 'request.json'],
  'spec.schema.response': ['response.json', 'response.json'],
  'spec.operations.*.inputSchema': [{ type: 'object' }, { type: 'object' }],
  'spec.operations.*.outputSchema': [{ type: 'object' }, { type: 'object' }],
  'spec.operations.*.timeoutSeconds': [3, '3s'],
  'spec.operations.*.retryPolicy': [{ maxAttempts: 2 }, { max_attempts: 2 }],
  'spec.operations.*.approvalTriggers': [[{ path: 'a', operator: 'exists' }], [{ field: 'a', op: 'exists' }]],
  'spec.timeoutSeconds': [1.5, '1.5s'],
  'spec.limits.timeout_ms_default': [15_000, '15000ms'],
  'spec.retryPolicy': [
    { maxAttempts: 3, baseMs: 200, capMs: 2000, jitter: true },
    { max_attempts: 3, backoff: '200ms', max_backoff: '2000ms', jitter: 'full' },
  ],
  'spec.runtime.retry.maxAttempts': [3, 3],
  'spec.runtime.retry.base_ms': [200, '200ms'],
  'spec.runtime.retry.baseMs': [200, '200ms'],
  'spec.runtime.retry.backoff_ms': [200, '200ms'],
  'spec.runtime.retry.backoffMs': [200, '200ms'],
  'spec.runtime.retry.maxBackoff': ['2s', '2s'],
  'spec.runtime.retry.cap_ms': [2000, '2000ms'],
  'spec.runtime.retry.capMs': [2000, '2000ms'],
  'spec.runtime.retry.max_backoff_ms': [2000, '2000ms'],
  'spec.runtime.retry.maxBackoffMs': [2000, '2000ms'],
  'spec.authenticationRef object': [{ secretRef: 'key' }, { secretRef: 'key' }],
  'spec.authenticationRef text': ['key', 'key'],
  'spec.auth.secret_ref': ['key', 'key'],
  'spec.auth.header_name': ['X-Key', 'X-Key'],
  'spec.auth.token_url': ['https://a.example.com', 'https://a.example.com'],
  'spec.auth.tokenUrl': ['https://a.example.com', 'https://a.example.com'],
  'spec.dataClassification': ['Restricted', 'restricted'],
  'spec.permissionClass': ['payments', 'payments'],
  'spec.approvalTriggers': [[{ field: 'a', op: 'eq', value: 1 }], [{ field: 'a', op: 'eq', value: 1 }]],
  'spec.approval_triggers[].path': ['a', 'a'],
  'spec.approval_triggers[].operator': ['gt', 'gt'],
  'spec.egressPolicy': [['https://a.example.com'], { allow: ['https://a.example.com'] }],
  'spec.capabilities object': [
    { fs: [], net_allowlist: ['https://a.example.com'], env: ['PATH'] },
    { fs: [], net_allowlist: ['https://a.example.com'], env: ['PATH'] },
  ],
  'spec.sideEffectClass': ['Financial or high-impact', 'financial-high-impact'],
  'spec.effect.sideEffectClass': ['Read-only', 'read-only'],
  'spec.determinism': ['idempotent', 'idempotent'],
  'spec.idempotency': ['key-required', 'key-required'],
  'spec.compensation': [
    { toolId: 'undo', inputMap: { a: '/input/a' }, requiresApproval: true },
    { tool: 'undo', input_map: { a: '/input/a' }, requires_approval: true },
  ],
  'spec.effect.compensation.toolId': ['undo', 'undo'],
  'spec.effect.compensation.inverse-tool.toolId': ['undo', 'undo'],
  'spec.effect.compensation.inputMap': [{}, {}],
  'spec.effect.compensation.inverse-tool.inputMap': [{}, {}],
  'spec.effect.compensation.requiresApproval': [true, true],
  'spec.effect.compensation.inverse-tool.requiresApproval': [true, true],
  'spec.limits.timeout_ms_max': [60_000, '60000ms'],
  'spec.limits.memory_mb_max': [512, '512Mi'],
  'spec.limits.concurrency_max': [32, 32],
  'spec.concurrency': [{ max: 4 }, 4],
  'spec.rateLimits': [{ requestsPerMinute: 60 }, { max: 60, per: '1m' }],
  'spec.errorspec': ['errors.md', 'errors.md'],
  'spec.auditFields': [['a'], ['a']],
  'spec.deprecation.affectedPolicies': [['p'], ['p']],
}

function segments(path: string): string[] {
  return path.replaceAll('[]', '.0').replaceAll('*', 'run').split('.')
}

function nest(path: string, value: Json): Json {
  return segments(path).reduceRight<Json>(
    (inner, name) => (name === '0' ? [inner] : { [name]: inner }),
    value,
  )
}

function merge(base: JsonObject, extra: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...base }
  for (const [key, value] of Object.entries(extra)) {
    const there = merged[key]
    const both = typeof there === 'object' && there !== null && typeof value === 'object' && value !== null
    merged[key] = both && !Array.isArray(value) ? merge(there as JsonObject, value as JsonObject) : value
  }
  return merged
}

function dig(value: unknown, path: string): unknown {
  return segments(path).reduce<unknown>(
    (at, name) => (at as Record<string, unknown> | undefined)?.[name],
    value,
  )
}

function keyOf(alias: FieldAlias): string {
  return alias.when === undefined ? alias.path : `${alias.path} ${alias.when}`
}

/** What has to stand beside an alias for the document to have the right shape. */
function beside(path: string): JsonObject {
  if (path === 'spec.approval_triggers[].path') return { op: 'exists' }
  if (path === 'spec.approval_triggers[].operator') return { field: 'a' }
  return {}
}

for (const row of FIELDS) {
  for (const alias of row.aliases) {
    test(`S48: ${keyOf(alias)} is read as ${row.path}`, () => {
      const sample = SAMPLES[keyOf(alias)]
      assert.ok(sample, `a sample for ${keyOf(alias)}`)
      const [written, read] = sample
      const tree = nest(alias.path, written) as JsonObject
      const named = row.path === 'metadata.name' ? {} : { metadata: { name: 'probe' } }
      const base: JsonObject = { apiVersion: 'writ.dev/v1', kind: 'Tool', spec: {}, ...named }
      const extra = beside(alias.path)
      const document = merge(base, tree)
      const list = (document.spec as Record<string, Json>).approval_triggers
      if (Array.isArray(list) && Object.keys(extra).length > 0) {
        ;(document.spec as Record<string, Json>).approval_triggers = [
          { ...(list[0] as JsonObject), ...extra },
        ]
      }
      const { documents, problems } = readManifestValue(document, 'alias')
      assert.deepEqual(problems.map(formatProblem), [])
      assert.deepEqual(dig(documents[0]?.manifest, row.path), read)
    })
  }
}

test('every sample is of an alias that is in the table', () => {
  const known = FIELDS.flatMap((row) => row.aliases.map(keyOf))
  assert.deepEqual(Object.keys(SAMPLES).toSorted(), known.toSorted())
})

const HEAD = 'apiVersion: writ.dev/v1\nkind: Tool\nmetadata: {name: probe}\nspec:\n'
const specOf = (text: string): ToolSpec => documentOf(`${HEAD}${text}`).manifest.spec

test('the blocks of an operation are read in the same spellings', () => {
  const spec = specOf(`  operations:
    pay:
      sideEffectClass: Irreversible
      determinism: idempotent
      idempotency: natural
      compensation: {inverse-tool: {toolId: refund, inputMap: {id: /output/id}}}
      retryPolicy: {base_ms: 100, jitter: false}
      limits: {timeout_ms_max: 9000}
      approvalTriggers: [{path: amount, operator: gt, value: 5}]
`)
  assert.deepEqual(spec.operations?.pay, {
    retry: { jitter: 'none', backoff: '100ms' },
    limits: { timeout_max: '9000ms' },
    approval_triggers: [{ value: 5, field: 'amount', op: 'gt' }],
    effect: {
      class: 'irreversible',
      determinism: 'idempotent',
      idempotency: 'natural',
      compensation: { tool: 'refund', input_map: { id: '/output/id' } },
    },
  })
})

test('words are read in any case where a list of words is meant', () => {
  const spec = specOf(
    '  type: HTTP\n  risk_level: High\n  operation_classes: [READ, Write]\n  runtime: {isolation_mode: None, retry: {jitter: FULL}}\n',
  )
  assert.deepEqual(spec, {
    type: 'http',
    risk_level: 'high',
    operation_classes: ['read', 'write'],
    runtime: { isolation_mode: 'none', retry: { jitter: 'full' } },
  })
})

test('the seven classes of 001 are read as it writes them', () => {
  const classes = [
    'Read-only',
    'Reversible write',
    'Irreversible',
    'Financial or high-impact',
    'External communication',
    'Code execution',
    'Administrative',
  ]
  assert.deepEqual(
    classes.map((name) => specOf(`  sideEffectClass: ${name}\n`).effect?.class),
    [
      'read-only',
      'reversible-write',
      'irreversible',
      'financial-high-impact',
      'external-communication',
      'code-execution',
      'administrative',
    ],
  )
})

test('shapes of rates, egress and concurrency that others use are read', () => {
  assert.deepEqual(specOf('  rateLimits: [{perSecond: 5}]\n').limits?.rate, { max: 5, per: '1s' })
  assert.deepEqual(specOf('  rateLimits: 10/s\n').limits?.rate, '10/s')
  assert.deepEqual(specOf('  rateLimits: {max: 3, per: 1h}\n').limits?.rate, { max: 3, per: '1h' })
  assert.deepEqual(specOf('  egressPolicy: none\n').egress, { allow: [] })
  assert.deepEqual(specOf('  egressPolicy: {allowlist: [https://a.example.com]}\n').egress, {
    allow: ['https://a.example.com'],
  })
  assert.equal(specOf('  concurrency: 7\n').limits?.concurrency, 7)
})

test('the word exponential for a backoff is read with a warning', () => {
  const text = `${HEAD}  runtime:\n    retry: {backoff: exponential}\n`
  assert.match(
    problemsOf(text)[0] ?? '',
    /^tool\.yaml:6:22: warning: spec\.runtime\.retry\.backoff: every backoff is exponential; .* 200ms is used/,
  )
})

test('a field that is said twice is an error at the alias, whatever it says', () => {
  assert.deepEqual(
    problemsOf(`${HEAD}  version: 1.0.0\n  semver: 1.0.0\n  timeoutSeconds: 3\n  runtime: {timeout: 3s}\n`),
    [
      'tool.yaml:6:3: error: spec.semver: says the same as spec.version, which is given too. Fix: keep spec.version',
      'tool.yaml:7:3: error: spec.timeoutSeconds: says the same as spec.runtime.timeout, which is given too. Fix: keep spec.runtime.timeout',
    ],
  )
})

test('positions stay those of what was written', () => {
  assert.deepEqual(
    problemsOf(`${HEAD}  retryPolicy:\n    maxAttempts: 3\n    jiter: x\n  concurrency: {max: many}\n`),
    [
      'tool.yaml:7:5: error: spec.runtime.retry.jiter: is not a known field. Fix: did you mean jitter?',
      "tool.yaml:8:16: error: spec.limits.concurrency: must be a whole number; it is 'many'",
    ],
  )
})

test('004: its tool.yaml is read as a whole', () => {
  const { manifest } = documentOf(`
tool_id: "search.web"
semver: "1.4.2"
digest: "sha256:${'0'.repeat(64)}"
owner: "@team-search"
description: "Web search with source extraction and rate limiting."
determinism: "idempotent"
capabilities:
  fs: []
  net_allowlist:
    - "https://api.example.com"
    - "https://*.wikipedia.org"
  env: ["HTTP_PROXY"]
limits:
  timeout_ms_default: 15000
  timeout_ms_max: 60000
  memory_mb_max: 512
  concurrency_max: 32
slo:
  success_rate_min: 0.995
  p95_latency_ms_max: 2000
health:
  readiness: "cmd:./bin/health --readiness"
  liveness:  "cmd:./bin/health --liveness"
errorspec: "errors.md"
schema:
  request: "schema/request.json"
  response: "schema/response.json"
`)
  assert.deepEqual(manifest, {
    apiVersion: 'writ.dev/v1',
    kind: 'Tool',
    metadata: { name: 'search.web' },
    spec: {
      version: '1.4.2',
      digest: `sha256:${'0'.repeat(64)}`,
      owner: '@team-search',
      description: 'Web search with source extraction and rate limiting.',
      effect: { determinism: 'idempotent' },
      grants: {
        fs: [],
        net_allowlist: ['https://api.example.com', 'https://*.wikipedia.org'],
        env: ['HTTP_PROXY'],
      },
      runtime: { timeout: '15000ms' },
      limits: { timeout_max: '60000ms', memory: '512Mi', concurrency: 32 },
      slo: { success_rate_min: 0.995, p95_latency_ms_max: 2000 },
      health: { readiness: 'cmd:./bin/health --readiness', liveness: 'cmd:./bin/health --liveness' },
      errors: 'errors.md',
      input_schema: 'schema/request.json',
      output_schema: 'schema/response.json',
    },
  })
})

test('a flat contract may name its api version, and its mistakes have exact places', () => {
  assert.equal(documentOf('apiVersion: writ.dev/v1\ntoolId: a\n').manifest.metadata.name, 'a')
  assert.deepEqual(problemsOf('toolId: a\nsideEffectClas: read-only\ntimeoutSeconds: soon\n'), [
    'tool.yaml:2:1: error: spec.sideEffectClas: is not a known field. Fix: did you mean sideEffectClass?',
  ])
})
