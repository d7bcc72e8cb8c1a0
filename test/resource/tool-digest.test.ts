import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { resolveTool } from '../../src/resource/resolve-tool.ts'
import type { ToolSpec } from '../../src/resource/tool.ts'
import { documentOf, LOCAL, loose, manifest, resolved } from './support.ts'

const TEXT = `apiVersion: writ.dev/v1
kind: Tool
metadata:
  name: probe
spec:
  type: http
  endpoint: https://a.example.com/x
  runtime: {timeout: 30s}
  effect: {class: read-only}
  input_schema: {type: object, properties: {a: {type: string}, b: {type: integer}}}
`

function digestOf(text: string): string {
  const { tool, errors } = resolveTool(documentOf(text).manifest, LOCAL)
  assert.deepEqual(errors, [])
  return tool?.digest ?? ''
}

const digest = digestOf(TEXT)

test('S49: order, comments, notation and defaults that are written out do not change the digest', () => {
  const same = [
    `# a comment\n${TEXT}`,
    TEXT.replace('{a: {type: string}, b: {type: integer}}', '{b: {type: integer}, a: {type: string}}'),
    TEXT.replace('  type: http\n', '').concat('  type: http\n'),
    TEXT.replace('timeout: 30s', 'timeout: 30000ms'),
    TEXT.replace('  runtime: {timeout: 30s}\n', ''),
    TEXT.replace('  type: http\n', '  type: http\n  risk_level: low\n  version: 0.0.0\n  capabilities: []\n'),
    TEXT.replace('effect: {class: read-only}', 'sideEffectClass: Read-only'),
    TEXT.replace('writ.dev/v1', 'orloj.dev/v1'),
  ]
  for (const text of same) assert.equal(digestOf(text), digest, text)
})

test('S49: description, labels, annotations, status, name and namespace are no part of it', () => {
  const same = [
    TEXT.replace('spec:\n', 'spec:\n  description: Something else.\n'),
    TEXT.replace(
      '  name: probe\n',
      '  name: other\n  namespace: team\n  labels: {a: b}\n  annotations: {c: d}\n',
    ),
    `${TEXT}status: {phase: Ready}\n`,
  ]
  for (const text of same) assert.equal(digestOf(text), digest, text)
  const described = { operations: { run: { description: 'a' } } }
  assert.equal(resolved(described).digest, resolved({ operations: { run: { description: 'b' } } }).digest)
})

test('S49: everything that the tool means is part of it', () => {
  const base = resolved({}).digest
  const others: readonly object[] = [
    { endpoint: 'https://tool.example.com/other' },
    { type: 'external' },
    { version: '0.0.1' },
    { owner: 'me' },
    { digest: `sha256:${'0'.repeat(64)}` },
    { input_schema: { type: 'object' } },
    { output_schema: { type: 'object' } },
    { capabilities: ['a.b'] },
    { risk_level: 'high' },
    { runtime: { timeout: '1s' } },
    { runtime: { isolation_mode: 'container' } },
    { runtime: { retry: { max_attempts: 2 } } },
    { auth: { secretRef: 'a' } },
    { http: { method: 'PUT' } },
    { data_classification: 'public' },
    { permission_class: 'a' },
    { approval_triggers: [{ field: 'a', op: 'exists' }] },
    { egress: { allow: ['https://tool.example.com'] } },
    { egress: { private: 'it is in our network' } },
    { grants: { fs: ['/a'] } },
    { effect: { class: 'administrative' } },
    { effect: { class: 'administrative', key: 'required' } },
    { effect: { class: 'administrative', identity: ['a'] } },
    { effect: { class: 'administrative', idempotency: 'natural' } },
    { effect: { class: 'administrative', idempotency: { keyed: { retention: '1h' } } } },
    { effect: { class: 'administrative', idempotency: { keyed: { retention: '1h', scope: 'tool' } } } },
    { effect: { class: 'administrative', refused_on: [400] } },
    { effect: { class: 'administrative', compensation: { tool: 'a' } } },
    {
      effect: {
        class: 'administrative',
        status_query: { url: 'https://tool.example.com/{key}', state: '/s', done: 1, not_done: 2 },
      },
    },
    { limits: { concurrency: 1 } },
    { limits: { rate: '1/s' } },
    { limits: { input_bytes: 1 } },
    { errors: [{ code: 'a', effect: 'none' }] },
    { audit: 'strict' },
    { audit_fields: ['a'] },
    { observability: { a: 1 } },
    { deprecation: { removal: '2030-01-01' } },
    { slo: { success_rate_min: 1 } },
    { health: { liveness: 'cmd:a' } },
  ]
  const digests = others.map((spec) => resolved(loose(spec)).digest)
  assert.equal(new Set([base, ...digests]).size, others.length + 1, 'each has its own')
})

test('S49: the artifact that was fetched is part of it', () => {
  const artifactDigest = `sha256:${'1'.repeat(64)}`
  const fetched = resolved({}, { ...LOCAL, artifactDigest }).digest
  assert.notEqual(fetched, resolved({}).digest)
  assert.equal(resolved({ digest: artifactDigest }).digest, fetched)
})

test('S49: no order of keys changes the digest', () => {
  const spec: ToolSpec = {
    type: 'http',
    endpoint: 'https://a.example.com',
    owner: 'x',
    capabilities: ['a.b', 'c.d'],
    limits: { concurrency: 2, rate: '1/s', input_bytes: 9 },
    effect: { class: 'irreversible', identity: ['a'], key: 'required' },
  }
  const expected = resolveTool({ ...manifest(), spec }, LOCAL).tool?.digest
  assert.ok(expected)
  fc.assert(
    fc.property(fc.shuffledSubarray(Object.entries(spec), { minLength: 6 }), (entries) => {
      const shuffled = Object.fromEntries(entries) as ToolSpec
      assert.equal(resolveTool({ ...manifest(), spec: shuffled }, LOCAL).tool?.digest, expected)
    }),
    { numRuns: 30 },
  )
})
