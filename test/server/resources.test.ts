// Tools as resources, apply and explain.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Harness, startHarness } from './harness.ts'

let h: Harness
before(async () => {
  h = await startHarness()
})
after(() => h.close())

const YAML = { 'content-type': 'application/yaml' }

function manifest(
  name: string,
  options: { description?: string; version?: string; resourceVersion?: number | string } = {},
) {
  const { description = 'one', version = '1.0.0', resourceVersion } = options
  return {
    apiVersion: 'writ.dev/v1',
    kind: 'Tool',
    metadata: { name, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    spec: {
      type: 'http',
      endpoint: 'http://127.0.0.1:9/x',
      version,
      description,
      effect: { class: 'read-only' },
    },
  }
}

test('a tool is created, read, replaced and deleted', async () => {
  const created = await h.request('POST', '/v1/tools', { body: manifest('crud') })
  assert.equal(created.status, 201, created.text)
  assert.equal(created.headers.location, '/v1/tools/crud?version=1.0.0')
  const read = await h.request('GET', String(created.headers.location))
  assert.equal(read.status, 200)
  assert.equal(read.headers.etag, `"${read.body.metadata.resourceVersion}"`)
  assert.equal(read.headers.etag, created.headers.etag)
  assert.match(read.body.status.digest, /^sha256:/)
  assert.equal(read.body.metadata.generation, 1)

  const replaced = await h.request('PUT', '/v1/tools/crud', {
    body: manifest('crud', { description: 'two' }),
    headers: { 'if-match': String(read.headers.etag) },
  })
  assert.equal(replaced.status, 200, replaced.text)
  assert.equal(replaced.body.spec.description, 'two')
  assert.notEqual(replaced.headers.etag, read.headers.etag)

  const deleted = await h.request('DELETE', '/v1/tools/crud', {
    headers: { 'if-match': String(replaced.headers.etag) },
  })
  assert.equal(deleted.status, 204)
  assert.equal(deleted.text, '')
  const gone = await h.request('GET', '/v1/tools/crud')
  assert.equal(gone.status, 404)
  assert.equal(gone.body.error.details.failure, 'tool-unknown')
  assert.equal((await h.request('DELETE', '/v1/tools/crud')).status, 404)
})

test('what was read can be sent back as it is', async () => {
  await h.request('POST', '/v1/tools', { body: manifest('roundtrip') })
  const { body } = await h.request('GET', '/v1/tools/roundtrip')
  const same = await h.request('PUT', '/v1/tools/roundtrip', { body })
  assert.equal(same.status, 200, same.text)
  assert.equal(same.body.metadata.resourceVersion, body.metadata.resourceVersion)
  const applied = await h.request('POST', '/v1/apply', { body })
  assert.equal(applied.status, 200, applied.text)
  assert.equal(applied.body.diff[0].action, 'unchanged')
})

test('creating what is there is a conflict that names the found version', async () => {
  const first = await h.request('POST', '/v1/tools', { body: manifest('twice') })
  const second = await h.request('POST', '/v1/tools', { body: manifest('twice', { description: 'other' }) })
  assert.equal(second.status, 409)
  assert.equal(second.body.error.details.expected, 0)
  assert.equal(second.body.error.details.found, first.body.metadata.resourceVersion)
  const other = await h.request('POST', '/v1/tools', { body: manifest('twice', { version: '1.1.0' }) })
  assert.equal(other.status, 201)
})

test('a change must name the resourceVersion it was made from', async () => {
  const { body } = await h.request('POST', '/v1/tools', { body: manifest('guarded') })
  const current = body.metadata.resourceVersion
  const changed = manifest('guarded', { description: 'changed' })
  const without = await h.request('PUT', '/v1/tools/guarded', { body: changed })
  assert.equal(without.status, 428)
  assert.match(without.body.error.details.fix, /If-Match/)
  const stale = await h.request('PUT', '/v1/tools/guarded', {
    body: changed,
    headers: { 'if-match': `"${current + 7}"` },
  })
  assert.equal(stale.status, 409)
  assert.equal(stale.body.error.details.found, current)
  const staleBody = await h.request('PUT', '/v1/tools/guarded', {
    body: manifest('guarded', { resourceVersion: current + 7 }),
  })
  assert.equal(staleBody.status, 409)
  const two = await h.request('PUT', '/v1/tools/guarded', {
    body: manifest('guarded', { resourceVersion: current }),
    headers: { 'if-match': `"${current + 1}"` },
  })
  assert.equal(two.status, 422)
  const bad = await h.request('PUT', '/v1/tools/guarded', { body: changed, headers: { 'if-match': 'W/"x"' } })
  assert.equal(bad.status, 422)
  const staleDelete = await h.request('DELETE', '/v1/tools/guarded', {
    headers: { 'if-match': `"${current + 7}"` },
  })
  assert.equal(staleDelete.status, 409)
  const any = await h.request('PUT', '/v1/tools/guarded', { body: changed, headers: { 'if-match': '*' } })
  assert.equal(any.status, 200)
  const inBody = await h.request('PUT', '/v1/tools/guarded', {
    body: manifest('guarded', {
      description: 'again',
      resourceVersion: String(any.body.metadata.resourceVersion),
    }),
  })
  assert.equal(inBody.status, 200)
})

test('a new tool has no resourceVersion yet', async () => {
  const reply = await h.request('POST', '/v1/tools', { body: manifest('fresh', { resourceVersion: 12 }) })
  assert.equal(reply.status, 422)
  assert.match(reply.body.error.details.fix, /PUT/)
  assert.equal(
    (await h.request('POST', '/v1/tools', { body: manifest('fresh', { resourceVersion: 0 }) })).status,
    201,
  )
})

test('of two writers with the same resourceVersion one wins', async () => {
  const { headers } = await h.request('POST', '/v1/tools', { body: manifest('race') })
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, i) =>
      h.request('PUT', '/v1/tools/race', {
        body: manifest('race', { description: `writer ${i}` }),
        headers: { 'if-match': String(headers.etag) },
      }),
    ),
  )
  const statuses = replies.map((reply) => reply.status).toSorted()
  assert.deepEqual(statuses, [200, ...Array(7).fill(409)])
})

test('the highest version is shown where none is named, and versions are deleted one by one', async () => {
  for (const version of ['1.0.0', '1.10.0', '1.9.0'])
    await h.request('POST', '/v1/tools', { body: manifest('many', { version }) })
  assert.equal((await h.request('GET', '/v1/tools/many')).body.spec.version, '1.10.0')
  assert.equal((await h.request('GET', '/v1/tools/many?version=1.9.0')).body.spec.version, '1.9.0')
  const missing = await h.request('GET', '/v1/tools/many?version=2.0.0')
  assert.equal(missing.status, 404)
  assert.deepEqual(missing.body.error.details.versions, ['1.10.0', '1.9.0', '1.0.0'])
  const unclear = await h.request('DELETE', '/v1/tools/many', { headers: { 'if-match': '"1"' } })
  assert.equal(unclear.status, 422)
  assert.equal((await h.request('DELETE', '/v1/tools/many?version=1.10.0')).status, 204)
  assert.equal((await h.request('GET', '/v1/tools/many')).body.spec.version, '1.9.0')
  assert.equal((await h.request('DELETE', '/v1/tools/many')).status, 204)
  assert.equal((await h.request('GET', '/v1/tools/many')).status, 404)
})

test('the name in the path is the name of the tool', async () => {
  const reply = await h.request('PUT', '/v1/tools/one', {
    body: manifest('other'),
    headers: { 'if-match': '*' },
  })
  assert.equal(reply.status, 422)
  assert.equal(reply.body.error.details.violations[0].path, '/metadata/name')
})

test('one manifest only; sets go to apply', async () => {
  const text = '{"kind": 1}\n---\n{"kind": 2}'
  assert.equal((await h.request('POST', '/v1/tools', { body: text, headers: YAML })).status, 422)
  const two = [manifest('a-one'), manifest('a-two')].map((one) => JSON.stringify(one)).join('\n---\n')
  const reply = await h.request('POST', '/v1/tools', { body: two, headers: YAML })
  assert.equal(reply.status, 422)
  assert.match(reply.body.error.details.fix, /\/v1\/apply/)
})

test('a refused manifest answers with problems at the places of the text that was sent', async () => {
  const text = [
    'apiVersion: writ.dev/v1',
    'kind: Tool',
    'metadata:',
    '  name: broken',
    'spec:',
    '  type: http',
    '  endpont: http://127.0.0.1:9',
  ].join('\n')
  const shape = await h.request('POST', '/v1/tools', { body: text, headers: YAML })
  assert.equal(shape.status, 422)
  const problem = shape.body.problems.find((one: { path: string }) => one.path === 'spec.endpont')
  assert.equal(problem.line, 7)
  assert.match(problem.fix, /endpoint/)
  const meaning = text.replace('endpont: http://127.0.0.1:9', 'endpoint: "not a url"')
  const refused = await h.request('POST', '/v1/tools', { body: meaning, headers: YAML })
  assert.equal(refused.status, 422, refused.text)
  assert.equal(refused.body.problems.find((one: { path: string }) => one.path === 'spec.endpoint').line, 7)
})

test('tools of the program itself are listed and shown, and cannot be changed', async () => {
  const { body } = await h.request('GET', '/v1/tools')
  const names = body.tools.map((tool: { metadata: { name: string } }) => tool.metadata.name)
  assert.deepEqual(names, names.toSorted())
  assert.ok(names.includes('echo'))
  const echo = await h.request('GET', '/v1/tools/echo')
  assert.equal(echo.body.spec.type, 'native')
  assert.equal(echo.headers.etag, undefined)
  assert.equal((await h.request('DELETE', '/v1/tools/echo')).status, 404)
})

test('apply takes several documents, all or nothing, and shows the difference', async () => {
  const good = `${JSON.stringify(manifest('set-a'))}\n---\n${JSON.stringify(manifest('set-b'))}`
  const dry = await h.request('POST', '/v1/apply?dry_run=true', { body: good, headers: YAML })
  assert.equal(dry.status, 200, dry.text)
  assert.equal(dry.body.dry_run, true)
  assert.deepEqual(
    dry.body.diff.map(({ name, action }: { name: string; action: string }) => [name, action]),
    [
      ['set-a', 'create'],
      ['set-b', 'create'],
    ],
  )
  assert.equal((await h.request('GET', '/v1/tools/set-a')).status, 404)

  const half = `${JSON.stringify(manifest('set-a'))}\n---\nkind: Tool\n`
  const refused = await h.request('POST', '/v1/apply', { body: half, headers: YAML })
  assert.equal(refused.status, 422)
  assert.equal(refused.body.ok, false)
  assert.ok(refused.body.problems.length > 0)
  assert.equal((await h.request('GET', '/v1/tools/set-a')).status, 404)

  const applied = await h.request('POST', '/v1/apply', { body: good, headers: YAML })
  assert.equal(applied.status, 200)
  assert.equal(applied.body.resources.length, 2)
  const again = await h.request('POST', '/v1/apply', { body: good, headers: YAML })
  assert.deepEqual(
    again.body.diff.map((one: { action: string }) => one.action),
    ['unchanged', 'unchanged'],
  )
})

test('a set without a namespace goes where it was asked for, else where the manifests say', async () => {
  const text = JSON.stringify({ ...manifest('placed'), metadata: { name: 'placed', namespace: 'blue' } })
  const told = await h.request('POST', '/v1/apply', { body: text })
  assert.equal(told.status, 200, told.text)
  assert.equal((await h.request('GET', '/v1/tools/placed?namespace=blue')).status, 200)
  assert.equal((await h.request('POST', '/v1/apply?namespace=green', { body: text })).status, 422)
  const asked = await h.request('POST', '/v1/apply', {
    body: manifest('placed'),
    headers: { 'writ-namespace': 'green' },
  })
  assert.equal(asked.status, 200)
  assert.equal((await h.request('GET', '/v1/tools/placed?namespace=green')).status, 200)
  assert.equal((await h.request('GET', '/v1/tools/placed')).status, 404)
})

test('apply refuses bodies that are no manifest, by their type and by their bytes', async () => {
  const type = await h.request('POST', '/v1/apply', { body: 'x', headers: { 'content-type': 'text/html' } })
  assert.equal(type.status, 415)
  assert.match(type.body.error.details.fix, /application\/yaml/)
  for (const body of [
    '',
    '[',
    '- 1',
    'a: &x [*x]',
    Buffer.from([0xff, 0xfe]),
    'a: 1\na: 2',
    '__proto__: {}',
    '"'.repeat(10),
    '{'.repeat(5000),
  ]) {
    const reply = await h.request('POST', '/v1/apply', { body, headers: YAML })
    assert.equal(reply.status, 422, String(body).slice(0, 20))
    assert.ok(reply.body.problems.length > 0)
  }
  assert.equal((await h.request('POST', '/v1/apply?dry_run=maybe', { body: '{}' })).status, 422)
})

test('explain says what every stage would answer, and nothing happens', async () => {
  const before = h.effects.done.length
  const allow = await h.request('POST', '/v1/explain', {
    body: { request_id: 'x', tool: { name: 'post' }, input: { text: 'explained' } },
  })
  assert.equal(allow.status, 200, allow.text)
  assert.equal(allow.body.decision, 'allow')
  assert.ok(allow.body.stages.length > 5)
  assert.equal(allow.body.error, undefined)
  const invalid = await h.request('POST', '/v1/explain', {
    body: { request_id: 'x', tool: { name: 'post' }, input: {} },
  })
  assert.equal(invalid.body.decision, 'error')
  assert.equal(invalid.body.error.details.failure, 'input-invalid')
  assert.ok(invalid.body.error.details.fix)
  const approval = await h.request('POST', '/v1/explain', {
    body: { request_id: 'x', tool: { name: 'pay' }, input: { amount: 500 } },
  })
  assert.equal(approval.body.decision, 'require-approval')
  assert.equal(h.effects.done.length, before)
})

test('explain refuses what could not be decoded, like a call', async () => {
  const reply = await h.request('POST', '/v1/explain', { body: { tool: { name: 'post' } } })
  assert.equal(reply.status, 422)
  assert.equal(reply.body.error.details.failure, 'envelope-invalid')
  assert.equal((await h.request('POST', '/v1/explain', { body: '{' })).status, 400)
})
