import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatProblem, readManifests, readManifestValue } from '../../src/resource/manifest.ts'
import { documentOf, problemsOf } from './support.ts'

const HEAD = 'apiVersion: writ.dev/v1\nkind: Tool\nmetadata:\n  name: probe\n'

test('a manifest is read in canonical names', () => {
  const { manifest, kind, file } = documentOf(
    `${HEAD}spec:\n  type: http\n  endpoint: https://a.example.com\n`,
  )
  assert.equal(kind, 'Tool')
  assert.equal(file, 'tool.yaml')
  assert.deepEqual(manifest, {
    apiVersion: 'writ.dev/v1',
    kind: 'Tool',
    metadata: { name: 'probe' },
    spec: { type: 'http', endpoint: 'https://a.example.com' },
  })
})

test('JSON is a manifest like any other', () => {
  const json = {
    apiVersion: 'writ.dev/v1',
    kind: 'Tool',
    metadata: { name: 'j' },
    spec: { risk_level: 'low' },
  }
  assert.deepEqual(documentOf(JSON.stringify(json, null, '\t')).manifest, json)
})

test('orloj.dev/v1 is read as ours, and the kind in any case', () => {
  const { manifest } = documentOf('apiVersion: orloj.dev/v1\nkind: TOOL\nmetadata: {name: x}\nspec: {}\n')
  assert.equal(manifest.apiVersion, 'writ.dev/v1')
  assert.equal(manifest.kind, 'Tool')
})

test('unknown and missing kinds and versions are said at their place', () => {
  assert.deepEqual(problemsOf('apiVersion: writ.dev/v2\nkind: Tool\nmetadata: {name: x}\nspec: {}\n'), [
    "tool.yaml:1:13: error: apiVersion: 'writ.dev/v2' is not known. Fix: write apiVersion: writ.dev/v1",
  ])
  assert.deepEqual(problemsOf('apiVersion: writ.dev/v1\nkind: Tol\nfoo: 1\n'), [
    "tool.yaml:2:7: error: kind: 'Tol' is not known. Fix: did you mean Tool?",
  ])
  assert.deepEqual(problemsOf('apiVersion: writ.dev/v1\nkind: Widget\n'), [
    "tool.yaml:2:7: error: kind: 'Widget' is not known. Fix: use one of Tool, AgentRole, ToolPermission, AgentPolicy, Secret, McpServer",
  ])
  assert.deepEqual(problemsOf('kind: [Tool]\napiVersion: 1\n'), [
    'tool.yaml:1:7: error: kind: must be text. Fix: use one of Tool, AgentRole, ToolPermission, AgentPolicy, Secret, McpServer',
    'tool.yaml:2:13: error: apiVersion: must be text. Fix: write apiVersion: writ.dev/v1',
  ])
  assert.deepEqual(problemsOf('metadata: {name: x}\nspec: {}\n'), [
    'tool.yaml:1:1: error: kind: is missing. Fix: add kind: Tool, or another one of AgentRole, ToolPermission, AgentPolicy, Secret, McpServer',
    'tool.yaml:1:1: error: apiVersion: is missing. Fix: add apiVersion: writ.dev/v1',
  ])
})

test('a document that is no map is refused', () => {
  assert.deepEqual(problemsOf('\n- a\n- b\n'), [
    'tool.yaml:2:1: error: a manifest is a map of fields. Fix: start with apiVersion and kind',
  ])
  assert.deepEqual(problemsOf('just text\n').length, 1)
})

test('unknown fields are errors at their key, with a guess', () => {
  const text = `${HEAD}  lables: {a: b}
spec:
  typ: http
  runtime:
    retry: {max_attempt: 3}
  operations:
    send:
      inputSchma: {type: object}
  errors:
    - code: x
      efect: none
  zebra: 1
`
  assert.deepEqual(problemsOf(text), [
    'tool.yaml:5:3: error: metadata.lables: is not a known field. Fix: did you mean labels?',
    'tool.yaml:7:3: error: spec.typ: is not a known field. Fix: did you mean type?',
    'tool.yaml:9:13: error: spec.runtime.retry.max_attempt: is not a known field. Fix: did you mean max_attempts?',
    'tool.yaml:12:7: error: spec.operations.send.inputSchma: is not a known field. Fix: did you mean inputSchema?',
    'tool.yaml:15:7: error: spec.errors[0].efect: is not a known field. Fix: did you mean effect?',
    ...problemsOf(text).filter((line) => line.includes('zebra')),
  ])
  assert.match(
    problemsOf(text).at(-1) ?? '',
    /^tool\.yaml:16:3: error: spec\.zebra: is not a known field\. Fix: remove it; known here: type, endpoint/,
  )
})

test('spellings of other contracts are guessed too', () => {
  assert.match(problemsOf(`${HEAD}spec:\n  timeoutSecond: 3\n`)[0] ?? '', /did you mean timeoutSeconds\?$/)
})

test('all problems of all documents are collected', () => {
  const text = `${HEAD}spec:
  type: htp
  risk_level: extreme
  runtime:
    timeout: 5
    retry: {max_attempts: three}
  limits: {concurrency: 0}
---
apiVersion: writ.dev/v1
kind: Tool
metadata: {}
spec:
  capabilities: data.read
`
  assert.deepEqual(problemsOf(text), [
    "tool.yaml:6:9: error: spec.type: must be one of http, external, grpc, webhook-callback, mcp, cli, wasm; it is 'htp'. Fix: did you mean http?",
    "tool.yaml:7:15: error: spec.risk_level: must be one of low, medium, high, critical; it is 'extreme'. Fix: use one of these",
    'tool.yaml:9:14: error: spec.runtime.timeout: must be a duration such as 30s, 500ms or 24h; it is 5',
    "tool.yaml:10:27: error: spec.runtime.retry.max_attempts: must be a whole number; it is 'three'",
    'tool.yaml:11:25: error: spec.limits.concurrency: must be >= 1',
    'tool.yaml:15:1: error: metadata.name: is missing. Fix: add it',
    "tool.yaml:17:17: error: spec.capabilities: must be a list; it is 'data.read'",
  ])
})

test('a good document beside a bad one is still read', () => {
  const { documents, problems } = readManifests(`${HEAD}spec: {}\n---\n${HEAD}spec: {typ: x}\n`, 'two.yaml')
  assert.equal(documents.length, 1)
  assert.deepEqual(
    problems.map((problem) => [problem.file, problem.line, problem.column]),
    [['two.yaml', 11, 8]],
  )
})

test('a field without a value is said to be empty, at its name', () => {
  assert.deepEqual(problemsOf(`${HEAD}spec:\n  auth:\n  type:\n  identity: ~\n`).slice(0, 2), [
    'tool.yaml:6:3: error: spec.auth: is empty. Fix: give it a value, or remove the line',
    'tool.yaml:7:3: error: spec.type: is empty. Fix: give it a value, or remove the line',
  ])
})

test('what may have two forms is explained once, by the form that was meant', () => {
  const effect = (text: string) => problemsOf(`${HEAD}spec:\n  effect:\n    ${text}\n`)
  assert.deepEqual(effect('identity: 5'), [
    'tool.yaml:7:15: error: spec.effect.identity: must be a list of input fields, or {fields, window, on_repeat}; it is 5',
  ])
  assert.deepEqual(effect('identity: [a, 5]'), [
    'tool.yaml:7:19: error: spec.effect.identity[1]: must be text; it is 5',
  ])
  assert.deepEqual(effect('identity: {fields: [a], on_repeat: stop}'), [
    "tool.yaml:7:40: error: spec.effect.identity.on_repeat: must be one of block, approve, replay; it is 'stop'. Fix: use one of these",
  ])
  assert.deepEqual(effect('idempotency: sometimes'), [
    "tool.yaml:7:18: error: spec.effect.idempotency: must be none, natural, key-required, or {keyed: {header, retention, scope}}; it is 'sometimes'",
  ])
  assert.deepEqual(effect('idempotency: {keyed: {header: X}}'), [
    'tool.yaml:7:19: error: spec.effect.idempotency.keyed.retention: is missing. Fix: add it',
  ])
  assert.deepEqual(effect('idempotency: keyed').length, 1)
  assert.deepEqual(effect('status_query: {operation: a, quit: 5s}'), [
    'tool.yaml:7:34: error: spec.effect.status_query.quit: is not a known field. Fix: did you mean quiet?',
  ])
})

test('names of operations are held to the rule for names', () => {
  assert.match(
    problemsOf(`${HEAD}spec:\n  operations:\n    'a b': {}\n    ok: {}\n`)[0] ?? '',
    /^tool\.yaml:7:5: error: spec\.operations\["a b"\]: is no valid name/,
  )
  assert.match(problemsOf(`${HEAD}spec:\n  operations: {}\n`)[0] ?? '', /spec\.operations: must not be empty/)
})

test('labels may have any names, also with slashes and line breaks, but only text as values', () => {
  const text = `${HEAD}  labels:\n    app.example.com/name: 5\n    "a\\nb": 6\n    fine: x\nspec: {}\n`
  assert.deepEqual(problemsOf(text), [
    'tool.yaml:6:27: error: metadata.labels["app.example.com/name"]: must be text; it is 5',
    'tool.yaml:7:13: error: metadata.labels["a\\nb"]: must be text; it is 6',
  ])
})

test('what was read back from a server can be applied again', () => {
  const { manifest } = documentOf(`${HEAD}  namespace: team
  resourceVersion: '12'
  generation: 3
  createdAt: '2026-01-01T00:00:00Z'
  updatedAt: '2026-01-01T00:00:00Z'
spec: {}
status:
  phase: Ready
  observedGeneration: 3
  digest: sha256:00
  more: {than: known}
`)
  assert.equal(manifest.metadata.resourceVersion, '12')
  assert.equal(manifest.status?.phase, 'Ready')
})

test('bearer_token is read as bearer, with a warning', () => {
  const text = `${HEAD}spec:\n  auth: {profile: bearer_token, secretRef: a}\n`
  assert.deepEqual(problemsOf(text), [
    'tool.yaml:6:19: warning: spec.auth.profile: bearer_token is read as bearer. Fix: write profile: bearer',
  ])
  assert.deepEqual(readManifests(text, 'x').documents[0]?.manifest.spec, {
    auth: { profile: 'bearer', secretRef: 'a' },
  })
})

test('a document knows where each field was written, aliases included', () => {
  const document = documentOf(`${HEAD}spec:\n  timeoutSeconds: 5\n  capabilities:\n    - a.b\n    - c.d\n`)
  assert.deepEqual(document.at(['spec', 'runtime', 'timeout']), { line: 6, column: 19 })
  assert.deepEqual(document.at(['spec', 'capabilities', 1]), { line: 9, column: 7 })
  assert.deepEqual(
    document.at(['spec', 'effect', 'class']),
    { line: 5, column: 1 },
    'the nearest part that is there',
  )
  assert.deepEqual(document.at(['nothing']), { line: 1, column: 1 })
})

test('a value that is no text is read by the same rules', () => {
  const good = {
    apiVersion: 'writ.dev/v1',
    kind: 'Tool',
    metadata: { name: 'x' },
    spec: { timeoutSeconds: 2 },
  }
  assert.deepEqual(readManifestValue(good, 'row').documents[0]?.manifest.spec, {
    runtime: { timeout: '2s' },
  })
  assert.deepEqual(readManifestValue({ ...good, extra: 1 }, 'row').problems.map(formatProblem), [
    'row:1:1: error: extra: is not a known field. Fix: remove it; known here: apiVersion, kind, metadata, spec, status',
  ])
})

test('the text of a manifest cannot write to the terminal of its reader', () => {
  const [line = ''] = problemsOf(`${HEAD}spec:\n  type: "\\e[31mred\\r\\n\\x9b2J"\n`, 'a\u001b[2J.yaml')
  assert.doesNotMatch(line, /\p{Cc}/u)
  assert.match(line, /red/)
})

test('what was put where a credential is named is not repeated', () => {
  const text = `${HEAD}spec:\n  auth: hunter22\n  cli: {command: gh, env: [hunter22]}\n  authenticationRef: [hunter22]\n`
  const problems = problemsOf(text)
  assert.ok(problems.length >= 3)
  assert.doesNotMatch(problems.join('\n'), /hunter22/)
})
