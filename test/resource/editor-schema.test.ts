// The schema that editors use: it is what the tables say, has nothing against what is valid, and refuses what is not.
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Ajv, type ValidateFunction } from 'ajv'
import { parseAllDocuments } from 'yaml'
import { EDITOR_SCHEMA, renderEditorSchema } from '../../scripts/editor-schema.ts'
import { ROOT } from '../../scripts/repo-files.ts'
import { editorSchema } from '../../src/resource/editor-schema.ts'
import { KINDS } from '../../src/resource/kinds.ts'
import { readManifests, readManifestValue } from '../../src/resource/manifest.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { allPages } from '../docs/markdown.ts'

const validate = compile(editorSchema())

function compile(schema: JsonObject): ValidateFunction {
  // A field may be required beside a union that has it: that is no mistake.
  const ajv = new Ajv({ strict: true, strictTypes: false, strictRequired: false, allErrors: true })
  ajv.addVocabulary(['doNotSuggest', 'patternErrorMessage'])
  return ajv.compile(schema)
}

function faultsOf(manifest: unknown, check = validate): readonly string[] {
  check(manifest)
  return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

function documentsOf(text: string): readonly JsonObject[] {
  return parseAllDocuments(text).map((document) => document.toJS() as JsonObject)
}

const SERVER = `
apiVersion: writ.dev/v1
kind: McpServer
metadata: {name: files}
spec:
  transport: stdio
  command: npx some-server
  env: [{name: LANG, value: C}]
  resync: 1m
  default_tool_runtime: {timeout: 10s}
  tools:
    read_file: {risk_level: low, operation_classes: [read], effect: {class: read-only}}
`

/** Manifests that Writ reads without an error, with where they are. */
const VALID: readonly (readonly [string, JsonObject])[] = [
  ...globSync('examples/**/*.yaml', { cwd: ROOT }).map(
    (path) => [path, readFileSync(join(ROOT, path), 'utf8')] as const,
  ),
  ['an MCP server', SERVER] as const,
  ...allPages().flatMap(({ path, fences }) =>
    fences
      .filter(({ language, text }) => language === 'yaml' && /^(?:apiVersion|tool_?[iI]d):/m.test(text))
      .map(({ line, text }) => [`${path}:${line}`, text] as const),
  ),
].flatMap(([where, text]) => {
  const { documents, problems } = readManifests(text, where)
  const isValid = documents.length > 0 && problems.every(({ severity }) => severity !== 'error')
  return isValid ? documentsOf(text).map((document) => [where, document] as const) : []
})

test('docs/schema/writ.schema.json is what the tables say', () => {
  assert.ok(existsSync(EDITOR_SCHEMA), 'run: node scripts/editor-schema.ts')
  assert.equal(
    readFileSync(EDITOR_SCHEMA, 'utf8'),
    renderEditorSchema(),
    'run: node scripts/editor-schema.ts',
  )
})

test('every manifest of the examples and the docs is valid for an editor', () => {
  assert.ok(VALID.length >= 20, `${VALID.length} found`)
  for (const { name } of KINDS)
    assert.ok(
      VALID.some(([, { kind }]) => kind === name),
      `${name} is among them`,
    )
  for (const [where, document] of VALID) assert.deepEqual(faultsOf(document), [], where)
})

test('the schema of one kind takes its manifests, and no others', () => {
  for (const kind of KINDS) {
    const check = compile(editorSchema([kind]))
    for (const [where, document] of VALID) {
      // A flat contract is a tool.
      const own = (document.kind ?? 'Tool') === kind.name
      assert.equal(check(document), own, `${kind.name} of ${where}: ${faultsOf(document, check)}`)
    }
  }
})

/** Every map and list inside, by reference. */
function containersOf(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return []
  return [value, ...Object.values(value).flatMap(containersOf)]
}

/** Whether Writ reads it; what it means is not asked. */
function isRead(document: Json): boolean {
  return readManifestValue(document, 'mutant').problems.every(({ severity }) => severity !== 'error')
}

test('an unknown field, at whatever place, is refused exactly where Writ refuses it', () => {
  let refused = 0
  for (const [where, document] of VALID) {
    const places = containersOf(document).filter((one) => !Array.isArray(one)).length
    for (let place = 0; place < places; place++) {
      const mutant = structuredClone(document)
      const at = containersOf(mutant).filter((one) => !Array.isArray(one))[place] as Record<string, unknown>
      at.unknown_field = 'surely'
      const read = isRead(mutant)
      assert.equal(validate(mutant), read, `${where}: ${JSON.stringify(at).slice(0, 200)}`)
      if (!read) refused++
    }
  }
  assert.ok(refused > 100)
})

test('a word that nobody knows, and a value of another type, are refused wherever Writ refuses them', () => {
  let refused = 0
  for (const [where, document] of VALID) {
    const count = containersOf(document).flatMap((one) => Object.keys(one)).length
    for (const wrong of ['no-such-word', true, 7.5, ['x'], {}, null]) {
      for (let place = 0; place < count; place++) {
        const mutant = structuredClone(document)
        const slots = containersOf(mutant).flatMap((one) =>
          Object.keys(one).map((key) => [one, key] as const),
        )
        const [at, key] = slots[place] as readonly [Record<string, unknown>, string]
        at[key] = wrong
        const read = isRead(mutant)
        if (read) continue
        refused++
        assert.equal(validate(mutant), false, `${where}: ${key} ${JSON.stringify(wrong)}`)
      }
    }
  }
  assert.ok(refused > 1_000)
})

test('a field that is missing is refused wherever Writ refuses it', () => {
  for (const [where, document] of VALID) {
    const count = containersOf(document).flatMap((one) => Object.keys(one)).length
    for (let place = 0; place < count; place++) {
      const mutant = structuredClone(document)
      const slots = containersOf(mutant).flatMap((one) =>
        Array.isArray(one) ? [] : Object.keys(one).map((key) => [one, key] as const),
      )
      const [at, key] = slots[place] ?? []
      if (at === undefined || key === undefined) continue
      delete (at as Record<string, unknown>)[key]
      assert.equal(validate(mutant), isRead(mutant), `${where}: without ${key}`)
    }
  }
})

const HEAD = { apiVersion: 'writ.dev/v1', kind: 'Tool', metadata: { name: 'one' } }
const tool = (spec: JsonObject): JsonObject => ({ ...HEAD, spec })

test('S48: other spellings and notations are accepted', () => {
  const accepted: readonly JsonObject[] = [
    { ...HEAD, apiVersion: 'orloj.dev/v1', kind: 'tool', spec: {} },
    { apiVersion: 'writ.dev/v1', kind: 'Tool', spec: { toolId: 'one' } },
    { tool_id: 'one', semver: '1.0.0', limits: { timeout_ms_default: 500, memory_mb_max: 64 } },
    { toolId: 'one', timeoutSeconds: 5, schema: { request: { type: 'object' } } },
    tool({ type: 'HTTP', risk_level: 'High', operation_classes: ['Read'] }),
    tool({ sideEffectClass: 'Reversible write', idempotency: 'natural', compensation: 'undo' }),
    tool({ effect: { class: 'financial_or_high_impact' } }),
    tool({ retryPolicy: { maxAttempts: 3, baseMs: 200, jitter: true } }),
    tool({ runtime: { retry: { backoff: 'Exponential' } } }),
    tool({ rateLimits: [{ perSecond: 5 }], concurrency: { max: 4 } }),
    tool({ limits: { rate: { max: 5, per: 's' }, memory: '512Mi', input_bytes: 1000 } }),
    tool({ egressPolicy: 'none' }),
    tool({ egressPolicy: ['https://api.example.com'] }),
    tool({ capabilities: { fs: ['/tmp'] } }),
    tool({ capabilities: ['mail.send'] }),
    tool({ authenticationRef: 'key' }),
    tool({ authenticationRef: { profile: 'Bearer_Token', secret_ref: 'key' } }),
    tool({ operations: { go: { sideEffectClass: 'read-only', retryPolicy: { cap_ms: 5 } } } }),
    tool({ approvalTriggers: [{ path: '/amount', operator: 'gt', value: 5 }] }),
    {
      ...HEAD,
      kind: 'AgentPolicy',
      spec: { rules: [{ decision: 'approval_required', riskLevels: ['HIGH'] }] },
    },
  ]
  for (const manifest of accepted) {
    assert.ok(isRead(manifest), JSON.stringify(manifest))
    assert.deepEqual(faultsOf(manifest), [], JSON.stringify(manifest))
  }
})

test('what only shows when a manifest is resolved is refused as far as a pattern can say it', () => {
  const refused: readonly JsonObject[] = [
    tool({ runtime: { timeout: '5 seconds' } }),
    tool({ runtime: { timeout: '-5s' } }),
    tool({ limits: { memory: '5 apples' } }),
    tool({ limits: { rate: 'often' } }),
    { ...HEAD, metadata: { name: 'no name' }, spec: {} },
    { ...HEAD, metadata: { name: 'one', namespace: 'Upper' }, spec: {} },
    { ...HEAD, kind: 'Toll', spec: {} },
    { ...HEAD, apiVersion: 'v1', spec: {} },
    { apiVersion: 'writ.dev/v1', kind: 'Tool', spec: {} },
    { tool_id: 'one', surprise: 1 },
  ]
  for (const manifest of refused) assert.equal(validate(manifest), false, JSON.stringify(manifest))
})
