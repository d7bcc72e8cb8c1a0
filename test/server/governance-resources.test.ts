// Roles, permissions and policies over HTTP: the same five routes as tools, without versions.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { KINDS } from '../../src/resource/kinds.ts'
import { document } from '../resource/governance-support.ts'
import { type Harness, startHarness } from './harness.ts'

let h: Harness
before(async () => {
  h = await startHarness()
})
after(() => h.close())

const YAML = { 'content-type': 'application/yaml' }
const SPECS: Readonly<Record<string, readonly [string, string]>> = {
  AgentRole: ['permissions: [tool:echo:invoke]', 'permissions: [tool:post:invoke]'],
  ToolPermission: [
    'tool_ref: echo\nrequired_permissions: [a:b]',
    'tool_ref: echo\nrequired_permissions: [a:c]',
  ],
  McpServer: ['transport: stdio\nimage: first', 'transport: stdio\nimage: second'],
  Secret: ['stringData: {value: first-value}', 'stringData: {value: second-value}'],
  AgentPolicy: ['apply_mode: global\nblocked_tools: [echo]', 'apply_mode: global\nblocked_tools: [post]'],
}

for (const kind of KINDS.filter((one) => !one.versioned)) {
  const path = `/v1/${kind.plural}`
  const [spec = '', changed = ''] = SPECS[kind.name] ?? []
  const send = (method: string, url: string, body: string, headers: Record<string, string> = {}) =>
    h.request(method, url, { body, headers: { ...YAML, ...headers } })

  test(`${kind.name}: created, listed, read, replaced and deleted`, async () => {
    const created = await send('POST', path, document(kind.name, 'one', spec))
    assert.equal(created.status, 201, created.text)
    assert.equal(created.headers.location, `${path}/one`)
    const list = await h.request('GET', path)
    assert.deepEqual(
      list.body[kind.plural.replaceAll('-', '_')].map(
        (one: { metadata: { name: string } }) => one.metadata.name,
      ),
      ['one'],
    )
    const read = await h.request('GET', `${path}/one`)
    assert.equal(read.status, 200)
    assert.equal(read.body.kind, kind.name)
    assert.match(read.body.status.digest, /^sha256:/)
    const etag = String(read.headers.etag)
    const again = await h.request('PUT', `${path}/one`, { body: read.body })
    assert.equal(again.status, 200, 'what was read can be sent back as it is')
    assert.equal(again.headers.etag, etag)
    const replaced = await send('PUT', `${path}/one`, document(kind.name, 'one', changed), {
      'if-match': etag,
    })
    assert.equal(replaced.status, 200, replaced.text)
    assert.equal(replaced.body.metadata.generation, 2)
    const stale = await send('PUT', `${path}/one`, document(kind.name, 'one', spec), { 'if-match': etag })
    assert.equal(stale.status, 409)
    assert.match(
      stale.body.error.message,
      new RegExp(`^The ${kind.singular.replace('-', ' ')} has resourceVersion`),
    )
    const unsaid = await send('PUT', `${path}/one`, document(kind.name, 'one', spec))
    assert.equal(unsaid.status, 428)
    const twice = await send('POST', path, document(kind.name, 'one', spec))
    assert.equal(twice.status, 409)
    assert.equal((await h.request('DELETE', `${path}/one`, { headers: { 'if-match': etag } })).status, 409)
    assert.equal((await h.request('DELETE', `${path}/one`)).status, 204)
    const gone = await h.request('GET', `${path}/one`)
    assert.equal(gone.status, 404)
    assert.match(gone.body.error.message, /^No .* 'one' in this namespace\.$/)
    assert.equal((await h.request('DELETE', `${path}/one`)).status, 404)
  })

  test(`${kind.name}: a document that is wrong, or of another kind, changes nothing and says why`, async () => {
    const wrong = await send('POST', path, document(kind.name, 'bad', 'unheard: 1'))
    assert.equal(wrong.status, 422)
    const unheard = wrong.body.problems.find((one: { path: string }) => one.path === 'spec.unheard')
    assert.deepEqual([unheard?.line, unheard?.column], [5, 3])
    const other = kind.name === 'AgentRole' ? 'AgentPolicy' : 'AgentRole'
    const misplaced = await send('POST', path, document(other, 'bad', ''))
    assert.equal(misplaced.status, 422)
    assert.match(misplaced.body.error.message, new RegExp(`is ${other}, and not ${kind.name}`))
    const renamed = await send('PUT', `${path}/other`, document(kind.name, 'bad', spec), { 'if-match': '*' })
    assert.equal(renamed.status, 422)
    assert.equal((await h.request('GET', `${path}/bad?version=1.0.0`)).status, 422, 'it has no versions')
    assert.equal((await h.request('GET', path, { token: null })).status, 401)
    assert.equal((await h.request('GET', `${path}/bad`)).status, 404)
  })
}

test('a role that something names is not deleted over HTTP either, and the answer says who', async () => {
  const both = [document('AgentRole', 'lead', ''), document('AgentRole', 'agent', 'inherits: [lead]')].join(
    '---\n',
  )
  const applied = await h.request('POST', '/v1/apply', { body: both, headers: YAML })
  assert.equal(applied.status, 200, applied.text)
  const refused = await h.request('DELETE', '/v1/agent-roles/lead')
  assert.equal(refused.status, 409)
  assert.equal(refused.body.error.message, 'The role lead is named by AgentRole agent.')
  assert.equal((await h.request('DELETE', '/v1/agent-roles/agent')).status, 204)
  assert.equal((await h.request('DELETE', '/v1/agent-roles/lead')).status, 204)
})

test('a set of several kinds is applied whole or not at all', async () => {
  const good = document('AgentRole', 'whole', 'permissions: [tool:echo:invoke]')
  const bad = document(
    'ToolPermission',
    'echo',
    'operation_rules: [{verdict: deny}]\napproval: {role: nobody}',
  )
  const refused = await h.request('POST', '/v1/apply', { body: `${good}---\n${bad}`, headers: YAML })
  assert.equal(refused.status, 422)
  assert.match(refused.body.problems[0].message, /there is no AgentRole 'nobody'/)
  assert.equal((await h.request('GET', '/v1/agent-roles/whole')).status, 404)
  const mended = bad.replace('role: nobody', 'role: whole')
  const applied = await h.request('POST', '/v1/apply', { body: `${good}---\n${mended}`, headers: YAML })
  assert.equal(applied.status, 200, applied.text)
  assert.deepEqual(
    applied.body.resources.map((one: { kind: string }) => one.kind),
    ['AgentRole', 'ToolPermission'],
  )
})
