import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatProblem, readManifests } from '../../src/resource/manifest.ts'
import type { ToolSpec } from '../../src/resource/tool.ts'

const CONTRACT =
  'tool_id: search\nschema:\n  request: schema/request.json\n  response: schema/response.json\n'

function read(text: string, files: Readonly<Record<string, string>>) {
  const asked: string[] = []
  const { documents, problems } = readManifests(text, 'tool.yaml', {
    load(name) {
      asked.push(name)
      return files[name]
    },
  })
  return {
    spec: documents[0]?.manifest.spec as ToolSpec | undefined,
    problems: problems.map(formatProblem),
    asked,
  }
}

test('004: of an envelope schema the part of the tool is taken, from its own file', () => {
  const envelope = (part: string) =>
    JSON.stringify({ type: 'object', properties: { call_id: {}, [part]: { $ref: `${part}.json#` } } })
  const { spec, problems, asked } = read(CONTRACT, {
    'schema/request.json': envelope('input'),
    'schema/input.json': '{"type": "object", "properties": {"q": {"type": "string"}}}',
    'schema/response.json': JSON.stringify({ properties: { call_id: {}, output: { type: 'array' } } }),
  })
  assert.deepEqual(problems, [])
  assert.deepEqual(spec?.input_schema, { type: 'object', properties: { q: { type: 'string' } } })
  assert.deepEqual(spec?.output_schema, { type: 'array' })
  assert.deepEqual(asked, ['schema/request.json', 'schema/input.json', 'schema/response.json'])
})

test('any other schema is taken as it is, for operations too', () => {
  const text = `apiVersion: writ.dev/v1\nkind: Tool\nmetadata: {name: x}\nspec:\n  operations:\n    run: {input_schema: ./in.json}\n`
  const { spec, problems } = read(text, { './in.json': '{"type": "string"}' })
  assert.deepEqual(problems, [])
  assert.deepEqual(spec?.operations?.run?.input_schema, { type: 'string' })
})

test('files that are missing, broken or no schema are said at their name', () => {
  const { problems } = read(CONTRACT, { 'schema/response.json': '{"a": 1, "a": 2}' })
  assert.equal(problems.length, 2)
  assert.match(
    problems[0] ?? '',
    /^tool\.yaml:3:12: error: spec\.input_schema: there is no file 'schema\/request\.json' beside the manifest/,
  )
  assert.match(problems[1] ?? '', /^tool\.yaml:4:13: error: spec\.output_schema: 'schema\/response\.json' /)
  assert.match(
    read(CONTRACT, { 'schema/request.json': '[]', 'schema/response.json': '{}' }).problems[0] ?? '',
    /holds no JSON Schema/,
  )
  const envelope = JSON.stringify({ properties: { call_id: {} } })
  assert.match(
    read(CONTRACT, { 'schema/request.json': envelope, 'schema/response.json': '{}' }).problems[0] ?? '',
    /envelope without input/,
  )
})

test('a manifest reads nothing outside of its own folder', () => {
  for (const name of [
    '/etc/passwd',
    '../secret.json',
    'a/../../b.json',
    'https://example.com/a.json',
    'file:///a',
    'a\\..\\b',
    '~/a',
  ]) {
    const { problems, asked } = read(`tool_id: x\ninput_schema: '${name}'\n`, {})
    assert.match(problems[0] ?? '', /must be a file in the folder of the manifest/, name)
    assert.deepEqual(asked, [])
  }
  const sneaky = JSON.stringify({ properties: { call_id: {}, input: { $ref: '../../etc/passwd' } } })
  const { problems, asked } = read('tool_id: x\ninput_schema: a.json\n', { 'a.json': sneaky })
  assert.match(problems[0] ?? '', /must be a file in the folder/)
  assert.deepEqual(asked, ['a.json'])
})

test('without files to read, the names stay', () => {
  const { documents, problems } = readManifests(CONTRACT, 'tool.yaml')
  assert.deepEqual(problems, [])
  assert.equal((documents[0]?.manifest.spec as ToolSpec | undefined)?.input_schema, 'schema/request.json')
})
