// The OpenAPI document says what the server does, no more and no less.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { SCHEMAS } from '../../src/contract/schema/registry.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/util/json.ts'
import { type Harness, startHarness } from './harness.ts'

let h: Harness
let document: JsonObject
before(async () => {
  h = await startHarness()
  document = (await h.request('GET', '/openapi.json', { token: null })).body
})
after(() => h.close())

/** What is said with the path alone. */
const BODILESS = /\/(?:cancel|rollback|compensate|complete|tokens\/rotate|rotate-key)$/
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']

interface Operation {
  readonly path: string
  readonly method: string
  readonly operation: JsonObject
}

function operations(): Operation[] {
  return Object.entries(document.paths as JsonObject).flatMap(([path, item]) =>
    Object.entries(item as JsonObject).map(([method, operation]) => ({
      path,
      method,
      operation: operation as JsonObject,
    })),
  )
}

test('every route of the reference page is in the document, and the reverse', async () => {
  const page = await readFile(new URL('../../docs/reference/http.md', import.meta.url), 'utf8')
  const written = [...page.matchAll(/^### `(GET|POST|PUT|DELETE) (\S+)`$/gm)].map(
    ([, method, path]) => `${method} ${path}`,
  )
  const documented = operations().map(({ method, path }) => `${method.toUpperCase()} ${path}`)
  assert.deepEqual(written.toSorted(), documented.toSorted())
})

test('every documented operation is served, and every other method of its path is 405', async () => {
  const byPath = Map.groupBy(operations(), (one) => one.path)
  for (const [path, list] of byPath) {
    const url = path.replace('{id}', '019a0000-0000-7000-8000-000000000001').replace('{name}', 'no-such-tool')
    const methods = list.map(({ method }) => method.toUpperCase())
    const allow = new Set([...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'])
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']) {
      const reply = await h.request(method, url, method === 'GET' ? {} : { body: '{}' })
      if (allow.has(method)) {
        assert.notEqual(reply.status, 405, `${method} ${path}`)
        assert.equal(/There is no route/.test(reply.text), false, `${method} ${path}`)
      } else {
        assert.equal(reply.status, 405, `${method} ${path}`)
        assert.deepEqual(new Set(String(reply.headers.allow).split(', ')), allow)
        assert.ok(reply.body.error.details.fix)
      }
    }
    const options = await h.request('OPTIONS', url, { token: null })
    assert.equal(options.status, 204)
    assert.deepEqual(new Set(String(options.headers.allow).split(', ')), allow)
    const head = await h.request('HEAD', url)
    assert.equal(head.text, '')
    assert.equal(head.status === 405, !allow.has('HEAD'))
  }
})

test('a path that is not documented is not served', async () => {
  for (const path of [
    '/',
    '/v1',
    '/v1/call',
    '/V1/calls',
    '/v1/tools/a/b',
    '/v1/evidence',
    '/docs',
    '/favicon.ico',
  ]) {
    const reply = await h.request('GET', path)
    assert.equal(reply.status, 404, path)
    assert.match(reply.body.error.message, /There is no route GET/)
    assert.match(reply.body.error.details.fix, /openapi\.json/)
  }
})

test('routes that need a token say so, and only those', async () => {
  for (const { path, method, operation } of operations()) {
    const url = path.replace('{id}', '019a0000-0000-7000-8000-000000000001').replace('{name}', 'x')
    const reply = await h.request(method.toUpperCase(), url, {
      token: null,
      ...(method === 'get' ? {} : { body: '{}' }),
    })
    const security = operation.security as JsonObject[]
    const needed = security.length > 0 && security.every((one) => 'token' in one)
    // No caller's token, but a signature.
    const signed = path === '/v1/callbacks/{id}'
    assert.equal(reply.status === 401, needed || signed, `${method} ${path}`)
  }
})

test('the document has the structure of OpenAPI 3.1', () => {
  assert.equal(document.openapi, '3.1.0')
  const { info, components, tags } = document as {
    info: JsonObject
    components: JsonObject
    tags: JsonObject[]
  }
  assert.ok(info.title && info.version)
  const names = new Set(tags.map((tag) => tag.name))
  const ids = new Set<string>()
  for (const { path, method, operation } of operations()) {
    const where = `${method} ${path}`
    assert.match(path, /^\/[\w./{}-]*$/)
    assert.ok(METHODS.includes(method), where)
    assert.equal(typeof operation.summary, 'string', where)
    assert.ok(!ids.has(operation.operationId as string), `${where}: operationId is used twice`)
    ids.add(operation.operationId as string)
    for (const tag of operation.tags as string[]) assert.ok(names.has(tag), where)
    const parameters = (operation.parameters ?? []) as JsonObject[]
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    assert.deepEqual(
      parameters.filter((one) => one.in === 'path').map((one) => one.name),
      inPath,
      where,
    )
    for (const one of parameters) {
      assert.ok(['path', 'query', 'header'].includes(one.in as string), where)
      assert.ok(isJsonObject(one.schema) && typeof one.description === 'string', where)
      if (one.in === 'path') assert.equal(one.required, true)
    }
    assert.equal(
      'requestBody' in operation,
      (method === 'post' && !BODILESS.test(path)) || method === 'put',
      where,
    )
    const responses = operation.responses as JsonObject
    assert.ok(Object.keys(responses).length > 0, where)
    for (const [status, response] of Object.entries(responses)) {
      assert.match(status, /^([1-5]\d\d|default)$/, where)
      assert.equal(typeof (response as JsonObject).description, 'string', `${where} ${status}`)
    }
    for (const requirement of operation.security as JsonObject[]) {
      for (const scheme of Object.keys(requirement))
        assert.ok(scheme in (components.securitySchemes as JsonObject), where)
    }
  }
})

test('every $ref leads somewhere, and every schema of the contract is there and compiles', () => {
  const { schemas } = document.components as { schemas: JsonObject }
  const refs = new Set<string>()
  const walk = (value: Json): void => {
    if (typeof value !== 'object' || value === null) return
    if (isJsonObject(value) && typeof value.$ref === 'string') refs.add(value.$ref)
    for (const item of Object.values(value)) walk(item)
  }
  walk(document)
  assert.ok(refs.size > 5)
  for (const one of refs) assert.ok(one.replace('#/components/schemas/', '') in schemas, one)
  for (const name of Object.keys(SCHEMAS)) assert.ok(name in schemas, name)
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'doc', components: document.components })
  for (const name of Object.keys(schemas)) ajv.compile({ $ref: `doc#/components/schemas/${name}` })
})

test('what the server answers is valid by the document', async () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'doc', components: document.components })
  const check = (name: string, body: unknown): void => {
    const validate = ajv.compile({ $ref: `doc#/components/schemas/${name}` })
    assert.ok(validate(body), `${name}: ${ajv.errorsText(validate.errors)}`)
  }
  const ok = await h.call('echo', { a: 1 })
  check('v1-response', ok.body)
  check('call', (await h.record(ok.headers['writ-call-id'])).body)
  check('call-list', (await h.request('GET', '/v1/calls')).body)
  check('call', (await h.call('wait', { ms: 1 }, { headers: { prefer: 'respond-async' } })).body)
  check('v1-response', (await h.request('GET', '/nope')).body)
  check('v1-response', (await h.request('GET', '/v1/calls', { token: null })).body)
  check('readiness', (await h.request('GET', '/readyz')).body)
  check('tool-list', (await h.request('GET', '/v1/tools')).body)
  check(
    'explanation',
    (await h.request('POST', '/v1/explain', { body: { request_id: 'e', tool: { name: 'echo' } } })).body,
  )
  check(
    'explanation',
    (await h.request('POST', '/v1/explain', { body: { request_id: 'e', tool: { name: 'none' } } })).body,
  )
  const open = await h.call(
    'post',
    { text: 'gone', ms: 60_000 },
    { envelope: { runtime: { timeout_ms: 20 } } },
  )
  assert.equal(open.body.effect, 'unknown')
  const entries = (await h.request('GET', '/v1/entries')).body
  assert.equal(entries.entries.length, 1)
  check('entry-list', entries)
  const saga = (await h.request('POST', '/v1/sagas', { body: { id: 'doc-check' } })).body
  check('saga', saga)
  check('saga-list', (await h.request('GET', '/v1/sagas')).body)
  check(
    'tool-verdict',
    (await h.request('POST', '/v1/tools/echo/verify', { body: { input: { a: 1 } } })).body,
  )
  const settle = { body: { as: 'done', reason: 'seen' } }
  check('call', (await h.request('POST', `/v1/calls/${open.headers['writ-call-id']}/settle`, settle)).body)
  check(
    'v1-response',
    (await h.request('POST', `/v1/calls/${open.headers['writ-call-id']}/settle`, settle)).body,
  )
  const manifest =
    'apiVersion: writ.dev/v1\nkind: Tool\nmetadata: {name: doc-check}\nspec: {type: http, endpoint: "http://127.0.0.1:9/x"}\n'
  const headers = { 'content-type': 'application/yaml' }
  check('apply-result', (await h.request('POST', '/v1/apply', { body: manifest, headers })).body)
  check('apply-result', (await h.request('POST', '/v1/apply', { body: 'kind: Nothing', headers })).body)
  check('resource', (await h.request('GET', '/v1/tools/doc-check')).body)
  check('resource', (await h.request('GET', '/v1/tools/echo')).body)
})
