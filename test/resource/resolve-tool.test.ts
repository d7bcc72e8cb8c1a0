import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveTool } from '../../src/resource/resolve-tool.ts'
import {
  invokeOf,
  LOCAL,
  lines,
  loose,
  manifest,
  PRODUCTION,
  refused,
  refusesCalls,
  resolve,
  resolved,
  warned,
} from './support.ts'

test('the defaults of 002 and of the rules are applied', () => {
  const { tool, warnings } = resolveTool(
    {
      apiVersion: 'writ.dev/v1',
      kind: 'Tool',
      metadata: { name: 'web_search' },
      spec: { endpoint: 'https://api.example.com' },
    },
    LOCAL,
  )
  assert.ok(tool)
  const { digest, operations, ...rest } = tool
  assert.match(digest, /^sha256:[0-9a-f]{64}$/)
  assert.deepEqual(rest, {
    namespace: 'default',
    name: 'web_search',
    version: '0.0.0',
    type: 'http',
    description: '',
    owner: '',
    endpoint: 'https://api.example.com',
    contract: 'v1',
    capabilities: [],
    riskLevel: 'low',
    dataClassification: 'internal',
    isolation: 'none',
    netAllowlist: [],
    reach: 'loopback',
    limits: { inputBytes: 1_048_576, outputBytes: 4_194_304 },
    auditStrict: false,
    auditFields: [],
    approval: { quorum: 1, ttlMs: 600_000 },
    unenforced: [],
  })
  assert.deepEqual(operations, {
    invoke: {
      name: 'invoke',
      description: '',
      classes: ['read'],
      effect: {
        class: 'irreversible',
        determinism: 'side_effectful',
        repeat: 'never',
        keyRequired: false,
        refusedOn: [400, 401, 403, 404, 405, 406, 413, 415, 422, 429],
      },
      timeoutMs: 30_000,
      retry: { maxAttempts: 1, backoffMs: 0, maxBackoffMs: 30_000, jitter: 'none' },
      approvalTriggers: [],
      harmlessErrors: [],
    },
  })
  assert.equal(warnings.length, 1)
})

test('a resolved tool is frozen throughout, and shares nothing with the manifest', () => {
  const input_schema = { type: 'object', properties: { a: { type: 'string' } } }
  const tool = resolved({ input_schema })
  assert.throws(() => Object.assign(tool.limits, { inputBytes: 1 }), TypeError)
  assert.throws(
    () => Object.assign(tool.operations.invoke?.inputSchema?.properties ?? {}, { b: {} }),
    TypeError,
  )
  assert.ok(!Object.isFrozen(input_schema) && !Object.isFrozen(input_schema.properties))
})

test('names are letters, digits, dot, underscore and dash, 1 to 128', () => {
  for (const name of ['a', 'Web_Search', 'search.web', '9-to-5', 'x'.repeat(128)]) {
    assert.deepEqual(resolveTool(manifest({}, { name }), LOCAL).errors, [], name)
  }
  for (const name of ['', '.', '..', '-a', '_a', 'a b', 'a/b', 'ü', 'x'.repeat(129), 'a\n']) {
    assert.match(
      lines(resolveTool(manifest({}, { name }), LOCAL).errors)[0] ?? '',
      /^metadata\.name: .* is no valid name$/s,
      name,
    )
  }
})

test('namespaces are lower-case', () => {
  assert.equal(resolveTool(manifest({}, { namespace: 'team-a.x' }), LOCAL).tool?.namespace, 'team-a.x')
  for (const namespace of ['', 'Team', 'a/b', '-a']) {
    assert.match(
      lines(resolveTool(manifest({}, { namespace }), LOCAL).errors)[0] ?? '',
      /^metadata\.namespace:/,
      namespace,
    )
  }
})

test('S49: a version is a semantic version, and the fix says which', () => {
  assert.equal(resolved({ version: '1.4.2-rc.1+build.5' }).version, '1.4.2-rc.1+build.5')
  for (const [version, fix] of [
    ['v1.2.3', '1.2.3'],
    ['1.2', '1.2.0'],
    ['1', '1.0.0'],
    ['latest', '1.0.0'],
    ['', '1.0.0'],
  ] as const) {
    const { errors } = resolve({ version })
    assert.match(lines(errors)[0] ?? '', /^spec\.version: .* is no semantic version$/, version)
    assert.equal(errors[0]?.fix, `write version: ${fix}`)
  }
})

test('times must be durations, more than zero, and bounded', () => {
  assert.equal(invokeOf({ runtime: { timeout: '1m30s' } }).timeoutMs, 90_000)
  assert.equal(invokeOf({ runtime: { timeout: '1.5ms' } }).timeoutMs, 2)
  for (const timeout of ['0s', '0', '0ms'])
    refused({ runtime: { timeout } }, 'spec.runtime.timeout', /more than zero/)
  for (const timeout of ['', 'soon', '-5s', '5', '5 s', 'Infinity', '1d']) {
    refused({ runtime: { timeout } }, 'spec.runtime.timeout', /is no duration/)
  }
  refused({ runtime: { timeout: '721h' } }, 'spec.runtime.timeout', /longer than 720h/)
  refused({ limits: { timeout_max: '0s' } }, 'spec.limits.timeout_max', /more than zero/)
})

test('S9: one attempt must fit into the whole execution', () => {
  const operation = invokeOf({ runtime: { timeout: '15s' }, limits: { timeout_max: '60s' } })
  assert.deepEqual([operation.timeoutMs, operation.timeoutMaxMs], [15_000, 60_000])
  refused(
    { runtime: { timeout: '61s' }, limits: { timeout_max: '60s' } },
    'spec.runtime.timeout',
    /longer than limits\.timeout_max/,
  )
  refused({ limits: { timeout_max: '5s' } }, 'spec.runtime.timeout', /longer than/)
})

test('attempts are 1 to 100, pauses may be zero', () => {
  assert.deepEqual(
    invokeOf({ runtime: { retry: { max_attempts: 100, backoff: '0s', max_backoff: '5s', jitter: 'equal' } } })
      .retry,
    {
      maxAttempts: 100,
      backoffMs: 0,
      maxBackoffMs: 5_000,
      jitter: 'equal',
    },
  )
  for (const max_attempts of [0, -1, 101]) {
    refused({ runtime: { retry: { max_attempts } } }, 'spec.runtime.retry.max_attempts', /must be 1 to 100/)
  }
  refused({ runtime: { retry: { backoff: 'x' } } }, 'spec.runtime.retry.backoff', /no duration/)
  refused({ runtime: { retry: { max_backoff: '25h' } } }, 'spec.runtime.retry.max_backoff', /longer than 24h/)
})

test('sizes and rates are read in their notations', () => {
  const { limits } = resolved({
    limits: { rate: '100/m', concurrency: 5, input_bytes: '16Ki', output_bytes: 2048 },
  })
  assert.deepEqual(limits, {
    concurrency: 5,
    rate: { max: 100, perMs: 60_000 },
    inputBytes: 16_384,
    outputBytes: 2048,
  })
  refused({ limits: { rate: '10 per second' } }, 'spec.limits.rate', /is no rate/)
  refused({ limits: { rate: { max: 1, per: '0s' } } }, 'spec.limits.rate', /is no rate/)
  refused({ limits: { input_bytes: 'much' } }, 'spec.limits.input_bytes', /'much' is no size/)
  refused({ limits: { output_bytes: '1Gi' } }, 'spec.limits.output_bytes', /more than 256Mi/)
  refused({ limits: { memory: '1.5Gi' } }, 'spec.limits.memory', /is no size/)
})

test('S33: a memory limit cannot be enforced on what runs elsewhere', () => {
  refusesCalls({ limits: { memory: '512Mi' } }, 'spec.limits.memory', 'control-unavailable')
  assert.equal(resolved({ limits: { memory: 512 } }).limits.memoryMb, 512)
  assert.equal(resolved({ limits: { memory: '512m' } }).limits.memoryMb, 512)
  assert.equal(resolved({ limits: { memory: '1Gi' } }).limits.memoryMb, 1024)
})

test('S34: reads of confidential data wait for the disk, unless the tool says otherwise', () => {
  for (const [data_classification, strict] of [
    ['public', false],
    ['internal', false],
    ['confidential', true],
    ['restricted', true],
  ] as const) {
    assert.equal(resolved({ data_classification }).auditStrict, strict)
  }
  assert.equal(resolved({ audit: 'strict' }).auditStrict, true)
  assert.equal(resolved({ audit: 'default', data_classification: 'restricted' }).auditStrict, false)
})

test('S40: audit fields are input fields that can be there', () => {
  const input_schema = { type: 'object', properties: { a: { type: 'object', properties: { b: {} } } } }
  assert.deepEqual(resolved({ input_schema, audit_fields: ['a.b', '/a', 'a.b'] }).auditFields, ['/a/b', '/a'])
  refused({ input_schema, audit_fields: ['a', 'c'] }, 'spec.audit_fields[1]', /'c' is not in input_schema/)
  refused({ audit_fields: ['a..b'] }, 'spec.audit_fields[0]', /names no input field/)
})

test('a deprecation is in UTC and in order', () => {
  const { deprecation } = resolved({
    deprecation: {
      introduced: '2026-01-01',
      deprecated: '2026-06-01T12:00:00Z',
      removal: '2026-12-31',
      replacement: 'other',
    },
  })
  assert.deepEqual(deprecation, {
    deprecatedAt: Date.UTC(2026, 5, 1, 12),
    removedAt: Date.UTC(2026, 11, 31),
    replacement: 'other',
  })
  for (const removal of [
    '2026-02-30',
    '2026-13-01',
    'tomorrow',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00:00+02:00',
    '01/02/2026',
  ]) {
    refused({ deprecation: { removal } }, 'spec.deprecation.removal', /is no UTC time/)
  }
  refused(
    { deprecation: { deprecated: '2026-02-01', removal: '2026-01-01' } },
    'spec.deprecation.removal',
    /is before deprecated/,
  )
  refused(
    { deprecation: { introduced: '2026-02-01', removal: '2026-01-01' } },
    'spec.deprecation.removal',
    /is before introduced/,
  )
})

test('what is only described is accepted, with a warning where somebody could rely on it', () => {
  warned({ slo: { success_rate_min: 0.99 } }, 'spec.slo', /not measured/)
  warned({ health: { readiness: 'cmd:./ok' } }, 'spec.health', /not polled/)
  warned({ grants: { fs: ['/data'] } }, 'spec.grants.fs', /gives nothing/)
  warned({ grants: { env: ['PATH'] } }, 'spec.grants.env', /gives nothing/)
  const quiet = {
    owner: 'me',
    observability: { dashboard: 'x' },
    deprecation: { introduced: '2026-01-01' },
    grants: { fs: [], env: [] },
  }
  assert.deepEqual(lines(resolve(quiet).warnings), [])
  assert.deepEqual(resolved({ slo: {}, health: {}, grants: { fs: ['/data'] } }).unenforced, [])
})

test('the digest of an artifact has one form, and must be that of the artifact', () => {
  const digest = `sha256:${'a'.repeat(64)}`
  assert.ok(resolved({ digest }))
  for (const bad of ['abc', 'sha256:abcdef...', `sha256:${'A'.repeat(64)}`, `md5:${'a'.repeat(32)}`]) {
    refused({ digest: bad }, 'spec.digest', /is no digest/)
  }
  refused({ digest }, 'spec.digest', /is not that of the artifact/, {
    ...LOCAL,
    artifactDigest: `sha256:${'b'.repeat(64)}`,
  })
})

test('all errors come at once', () => {
  const { errors } = resolve({
    version: 'x',
    endpoint: 'ftp://a',
    capabilities: ['a'],
    limits: { rate: 'x' },
    runtime: { timeout: 'x' },
  })
  assert.deepEqual(
    lines(errors)
      .map((line) => line.split(':')[0])
      .toSorted(),
    ['spec.capabilities[0]', 'spec.endpoint', 'spec.limits.rate', 'spec.runtime.timeout', 'spec.version'],
  )
})

test('S55: native is made by programs only', () => {
  const tool = resolveTool(
    { ...manifest(), spec: { effect: { class: 'read-only' } } },
    { ...LOCAL, native: true },
  ).tool
  assert.equal(tool?.type, 'native')
  assert.equal(tool?.endpoint, undefined)
  assert.deepEqual(tool?.unenforced, [])
})

test('both profiles resolve a complete tool to the same digest', () => {
  const spec = loose({ version: '1.0.0', effect: { class: 'irreversible', identity: ['a'] } })
  assert.equal(resolved(spec, LOCAL).digest, resolved(spec, PRODUCTION).digest)
})
