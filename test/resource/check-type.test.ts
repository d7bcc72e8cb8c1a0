import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveTool } from '../../src/resource/resolve-tool.ts'
import type { ToolSpec } from '../../src/resource/tool.ts'
import {
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

const local = (spec: object): ToolSpec => loose({ endpoint: undefined, ...spec })

test('S33: types that are not built are accepted with a warning', () => {
  warned(local({ type: 'wasm', wasm: { module: 'a.wasm' } }), 'spec.type', /cannot be called by this build/)
  assert.deepEqual(lines(resolve({ type: 'grpc', endpoint: 'a.example.com:443' }).warnings), [])
  assert.deepEqual(lines(resolve({ type: 'external' }).warnings), [])
})

test('types that are reached over the network need an endpoint', () => {
  for (const type of ['http', 'external', 'grpc', 'webhook-callback'] as const) {
    refused(local({ type }), 'spec.endpoint', /is missing/)
    refused({ type, endpoint: ' ' }, 'spec.endpoint', /is missing/)
  }
})

test('a contract with neither type nor endpoint can be applied, not called', () => {
  refusesCalls(loose({ type: undefined, endpoint: undefined }), 'spec.endpoint', 'config-invalid')
})

test('an endpoint is an absolute address without credentials or fragment', () => {
  for (const endpoint of [
    'api.example.com',
    '/v1',
    'ftp://a.example.com',
    'https://',
    'javascript:alert(1)',
    'file:///etc/passwd',
  ]) {
    refused({ endpoint }, 'spec.endpoint', /is no address/)
  }
  refused({ endpoint: 'https://me@a.example.com' }, 'spec.endpoint', /user name or password/)
  refused({ endpoint: 'https://me:secret@a.example.com' }, 'spec.endpoint', /user name or password/)
  refused({ endpoint: 'https://a.example.com/#x' }, 'spec.endpoint', /fragment/)
  assert.equal(resolved({ endpoint: 'http://127.0.0.1:9/x?y=z' }).endpoint, 'http://127.0.0.1:9/x?y=z')
})

test('a gRPC endpoint may be host and port', () => {
  for (const endpoint of ['a.example.com:443', 'grpcs://a.example.com', 'https://a.example.com:8443']) {
    assert.equal(resolved({ type: 'grpc', endpoint }).endpoint, endpoint)
  }
  refused({ type: 'grpc', endpoint: 'ftp://a' }, 'spec.endpoint', /is no address/)
})

test('no message repeats the password of an endpoint', () => {
  const { errors } = resolve({ endpoint: 'https://me:hunter22@a.example.com' })
  assert.doesNotMatch(JSON.stringify(errors), /hunter22/)
})

test('S51: profile production refuses loopback, plaintext gRPC and programs on the host', () => {
  for (const endpoint of [
    'http://localhost:1',
    'http://127.0.0.1',
    'http://127.9.9.9',
    'http://[::1]:1',
    'http://a.localhost',
  ]) {
    refused({ endpoint }, 'spec.endpoint', /on this machine/, PRODUCTION)
    assert.deepEqual(lines(resolve({ endpoint }, LOCAL).errors), [])
  }
  refused(
    { type: 'grpc', endpoint: 'a.example.com:1', grpc: { plaintext: true } },
    'spec.grpc.plaintext',
    /production/,
    PRODUCTION,
  )
  const host = local({ type: 'cli', cli: { command: 'jq' }, runtime: { isolation_mode: 'none' } })
  refused(host, 'spec.runtime.isolation_mode', /on the host/, PRODUCTION)
  assert.deepEqual(lines(resolve(host, LOCAL).errors), [])
})

test('a block belongs to its type', () => {
  refused({ cli: { command: 'jq' } }, 'spec.cli', /is for type cli; this tool has type http/)
  refused({ wasm: { module: 'a.wasm' } }, 'spec.wasm', /is for type wasm/)
  refused({ grpc: { plaintext: true } }, 'spec.grpc', /is for type grpc/)
  refused({ webhook: { poll: '1s' } }, 'spec.webhook', /is for type webhook-callback/)
  refused({ type: 'external', http: { method: 'POST' } }, 'spec.http', /is for type http/)
  refused({ mcp_server_ref: 'a' }, 'spec.mcp_server_ref', /is for type mcp/)
  refused({ mcp_tool_name: 'a' }, 'spec.mcp_tool_name', /is for type mcp/)
  refused({ type: 'cli', cli: { command: 'jq', image: 'jq:1' } }, 'spec.endpoint', /no meaning for type cli/)
  warned({ contract: 'legacy' }, 'spec.contract', /is not used by type http/)
  assert.equal(resolved({ type: 'external', contract: 'four-outcome' }).contract, 'four-outcome')
})

test('cli needs a command, and an image unless it runs on the host', () => {
  refused(local({ type: 'cli' }), 'spec.cli', /is missing/)
  refused(
    local({ type: 'cli', cli: { command: 'jq' } }),
    'spec.cli.image',
    /isolation_mode container needs one/,
  )
  const [missing] = resolve(local({ type: 'cli', cli: { command: 'jq' } })).errors
  assert.match(missing?.fix ?? '', /or declare runtime\.isolation_mode: none/)
  const pull = { command: 'jq', image_pull_secret: 'a' }
  refused(
    local({ type: 'cli', cli: pull, runtime: { isolation_mode: 'none' } }),
    'spec.cli.image_pull_secret',
    /no image/,
  )
})

test('a wasm module is a path beside, https or oci', () => {
  refused(local({ type: 'wasm' }), 'spec.wasm', /is missing/)
  for (const module of ['a.wasm', 'dir/a.wasm', 'https://a.example.com/a.wasm', 'oci://a.example.com/a:1']) {
    const { tool, warnings } = resolve(local({ type: 'wasm', wasm: { module } }))
    assert.ok(tool)
    assert.match(warnings.find(({ path }) => path[1] === 'type')?.fix ?? '', /^use another type/)
  }
  for (const module of [
    'http://a.example.com/a.wasm',
    '/etc/a.wasm',
    '../a.wasm',
    'a/../../b.wasm',
    'a\\..\\b.wasm',
  ]) {
    refused(local({ type: 'wasm', wasm: { module } }), 'spec.wasm.module', /relative path/)
  }
})

test('S46: mcp is not written by hand', () => {
  const spec = local({ type: 'mcp', mcp_server_ref: 'srv', mcp_tool_name: 'find' })
  refused(spec, 'spec.type', /not written by hand/)
  const generated = { ...LOCAL, generated: true }
  assert.equal(resolveTool(manifest(spec), generated).tool?.type, 'mcp')
  refused(local({ type: 'mcp', mcp_server_ref: 'srv' }), 'spec.mcp_tool_name', /is missing/, generated)
})

test('webhook polling is a time', () => {
  assert.ok(resolved({ type: 'webhook-callback', webhook: { poll: '500ms' } }))
  assert.deepEqual(resolved({ type: 'webhook-callback', webhook: { poll: '100ms' } }).webhook, {
    pollMs: 100,
  })
  for (const poll of ['0s', '1ms', '99ms'])
    refused({ type: 'webhook-callback', webhook: { poll } }, 'spec.webhook.poll', /must be at least 100ms/)
})

test('a gRPC endpoint is a host and a port; without TLS only where that is declared', () => {
  const grpc = (endpoint: string, plaintext?: boolean) =>
    loose({ type: 'grpc', endpoint, grpc: plaintext === undefined ? undefined : { plaintext } })
  for (const endpoint of ['a.example.com:1', 'grpc://a.example.com:1', 'https://a.example.com/'])
    assert.ok(resolved(grpc(endpoint)))
  assert.ok(resolved(grpc('http://a.example.com:1', true)))
  for (const plaintext of [undefined, false])
    refused(grpc('http://a.example.com:1', plaintext), 'spec.endpoint', /grpc\.plaintext is not declared/)
  for (const endpoint of ['a.example.com:1/run', 'https://a.example.com/v1', 'grpc://a.example.com:1/?x=1'])
    refused(grpc(endpoint), 'spec.endpoint', /with [/?]\S+, a path that type grpc does not use/)
  assert.match(resolve(grpc('a.example.com:1/run')).errors[0]?.fix ?? '', /^write a\.example\.com:1 alone$/)
})

test('an http tool is asked as it declares, by default with POST, JSON and no redirects', () => {
  assert.equal(resolved({}).http, undefined)
  assert.deepEqual(resolved({ http: {} }).http, {
    method: 'POST',
    contentType: 'application/json',
    maxRedirects: 0,
  })
  const http = { method: 'PUT', content_type: 'text/xml; charset=UTF-8', max_redirects: 3 } as const
  const tool = resolved({ http })
  assert.deepEqual(tool.http, { method: 'PUT', contentType: 'text/xml; charset=UTF-8', maxRedirects: 3 })
  assert.deepEqual(tool.unenforced, [])
  refused({ http: { content_type: 'text/xml; charset=latin1' } }, 'spec.http.content_type', /character set/)
  refused({ http: { content_type: 'multipart/form-data' } }, 'spec.http.content_type', /not made/)
  warned({ http: { method: 'GET', content_type: 'text/xml' } }, 'spec.http.content_type', /not used by GET/)
})
