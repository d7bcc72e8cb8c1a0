import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ToolSpec } from '../../src/resource/tool.ts'
import {
  LOCAL,
  lines,
  loose,
  PRODUCTION,
  refused,
  refusesCalls,
  resolve,
  resolved,
  warned,
} from './support.ts'

test('capabilities are trimmed, lower case, without repeats, and have two or more segments', () => {
  assert.deepEqual(
    resolved({ capabilities: [' Data.Read', 'data.read ', 'wasm.echo.invoke', 'external.side_effect'] })
      .capabilities,
    ['data.read', 'wasm.echo.invoke', 'external.side_effect'],
  )
  for (const label of ['search', 'read:web', 'a.', '.a', 'a..b', 'a b.c', '']) {
    refused({ capabilities: ['data.read', label] }, 'spec.capabilities[1]', /is no capability/)
  }
})

test('a permission class is a name', () => {
  assert.equal(resolved({ permission_class: 'payments-eu' }).permissionClass, 'payments-eu')
  refused({ permission_class: 'a b' }, 'spec.permission_class', /is no valid name/)
})

test('isolation: what runs elsewhere is held to its own endpoint from high risk on (seed 002)', () => {
  for (const risk_level of ['low', 'medium', 'high', 'critical'] as const) {
    const expected = risk_level === 'high' || risk_level === 'critical' ? 'sandboxed' : 'none'
    for (const type of ['http', 'external', 'grpc', 'webhook-callback'] as const) {
      const endpoint = 'https://tool.example.com'
      assert.equal(resolved({ type, endpoint, risk_level }).isolation, expected)
      assert.equal(
        resolved({ type, endpoint, risk_level, runtime: { isolation_mode: 'none' } }).isolation,
        'none',
      )
    }
  }
})

test('isolation: local code always has a boundary, and risk raises it', () => {
  const bare = { endpoint: undefined } as unknown as ToolSpec
  const cli = (risk_level: 'low' | 'critical') =>
    resolved({ ...bare, type: 'cli', cli: { command: 'jq', image: 'jq:1' }, risk_level })
  assert.equal(cli('low').isolation, 'container')
  assert.equal(cli('critical').isolation, 'container')
  const wasm = (risk_level: 'medium' | 'high') =>
    resolved({ ...bare, type: 'wasm', wasm: { module: 'a.wasm' }, risk_level })
  assert.equal(wasm('medium').isolation, 'wasm')
  assert.equal(wasm('high').isolation, 'sandboxed')
})

test('S33: an isolation that cannot be given refuses calls as isolation_unavailable', () => {
  for (const isolation_mode of ['container', 'kubernetes', 'wasm'] as const) {
    refusesCalls({ runtime: { isolation_mode } }, 'spec.runtime.isolation_mode', 'isolation-unavailable')
  }
  for (const isolation_mode of ['none', 'sandboxed'] as const)
    assert.deepEqual(resolved({ runtime: { isolation_mode } }).unenforced, [])
})

test('S50: code execution without isolation is for profile local', () => {
  const effect = { class: 'code-execution' } as const
  assert.equal(resolved({ effect }, LOCAL).isolation, 'none')
  refused({ effect }, 'spec.runtime.isolation_mode', /code-execution/, PRODUCTION)
  refused(
    { operations: { run: { effect }, look: {} } },
    'spec.runtime.isolation_mode',
    /code-execution/,
    PRODUCTION,
  )
  assert.deepEqual(
    lines(resolve({ effect, runtime: { isolation_mode: 'container' } }, PRODUCTION).errors),
    [],
  )
})

test('auth is enforced, and bearer is the default', () => {
  assert.deepEqual(resolved({ auth: { secretRef: 'key' } }).unenforced, [])
  assert.deepEqual(resolved({ auth: { secretRef: 'key', scopes: [' a ', 'a', ''] } }).auth, {
    profile: 'bearer',
    secretRef: 'key',
    scopes: ['a'],
  })
})

test('auth says what each profile needs', () => {
  refused({ auth: {} }, 'spec.auth.secretRef', /is missing/)
  refused({ auth: { profile: 'basic' } }, 'spec.auth.secretRef', /is missing/)
  refused({ auth: { profile: 'api_key_header', secretRef: 'a' } }, 'spec.auth.headerName', /is missing/)
  refused(
    { auth: { profile: 'api_key_header', secretRef: 'a', headerName: 'a b' } },
    'spec.auth.headerName',
    /is no header name/,
  )
  refused(
    { auth: { profile: 'oauth2_client_credentials', secretRef: 'a' } },
    'spec.auth.tokenURL',
    /is missing/,
  )
  for (const tokenURL of ['http://a.example.com', 'https://u:p@a.example.com', 'a', '']) {
    refused(
      { auth: { profile: 'oauth2_client_credentials', secretRef: 'a', tokenURL } },
      'spec.auth.tokenURL',
      /must be an https URL/,
    )
  }
  const bare = {
    profile: 'oauth2_client_credentials',
    secretRef: 'a',
    tokenURL: '127.0.0.1:9/token',
  } as const
  assert.match(resolve({ auth: bare }).errors[0]?.fix ?? '', /such as https:\/\//)
  // On a laptop a token endpoint of its own needs no TLS.
  for (const tokenURL of ['http://127.0.0.1:9/token', 'http://localhost/token', 'http://[::1]:9/token']) {
    const auth = { profile: 'oauth2_client_credentials', secretRef: 'a', tokenURL } as const
    assert.equal(resolved({ auth }).auth?.tokenURL, tokenURL)
  }
  warned(
    { auth: { secretRef: 'a', headerName: 'X-Key' } },
    'spec.auth.headerName',
    /is not used by profile bearer/,
  )
  warned({ auth: { secretRef: 'a', tokenURL: 'https://a.example.com' } }, 'spec.auth.tokenURL', /is not used/)
})

test('a token endpoint is reached as the tool is: a private one needs the reason, a link-local one is none', () => {
  const auth = (host: string) => ({
    profile: 'oauth2_client_credentials' as const,
    secretRef: 'a',
    tokenURL: `https://${host}/token`,
  })
  const egress = { private: 'the tokens are made in our own network' }
  for (const host of ['10.0.0.8', '[fd00::1]', '0xa000001']) {
    refused({ auth: auth(host) }, 'spec.auth.tokenURL', /is a private address/)
    assert.equal(resolved({ auth: auth(host), egress }).reach, 'private')
  }
  refused({ auth: auth('169.254.169.254'), egress }, 'spec.auth.tokenURL', /where no tool lives/)
  // The reason may be there for the tokens alone.
  const endpoint = 'https://8.8.8.8/run'
  assert.deepEqual(lines(resolve({ endpoint, auth: auth('10.0.0.8'), egress }).warnings), [])
  assert.deepEqual(lines(resolve({ endpoint, auth: auth('tokens.example.com'), egress }).warnings), [])
  warned({ endpoint, auth: auth('8.8.4.4'), egress }, 'spec.egress.private', /is not needed/)
  // Its origin is in the manifest, as the endpoint is: it needs no place on the list.
  const allow = { allow: ['https://tool.example.com'] }
  assert.deepEqual(lines(resolve({ auth: auth('tokens.example.com'), egress: allow }).warnings), [])
})

test('a secret is a name, of the own namespace or of one that shares it', () => {
  for (const secretRef of ['key', 'key:token', 'default/key', 'default/key:token', 'Key_1.x']) {
    assert.equal(resolved({ auth: { secretRef } }).auth?.secretRef, secretRef)
  }
  for (const secretRef of ['a b', 'sk live', '$(cat /etc/passwd)', 'a:b:c', '/a', '../a/b']) {
    refused({ auth: { secretRef } }, 'spec.auth.secretRef', /is no reference/)
  }
  warned({ auth: { secretRef: 'other/key' } }, 'spec.auth.secretRef', /refers to the namespace 'other'/)
})

test('S50: auth is not for cli', () => {
  const spec = {
    type: 'cli',
    endpoint: undefined,
    cli: { command: 'gh', image: 'gh:2' },
    auth: { secretRef: 'a' },
  }
  refused(spec as unknown as ToolSpec, 'spec.auth', /is not for type cli/)
})

test('an allowed-origins list must cover the endpoint, in both spellings', () => {
  const tool = resolved({ egress: { allow: ['https://tool.example.com'] } })
  assert.deepEqual(tool.netAllowlist, ['https://tool.example.com'])
  assert.deepEqual(tool.unenforced, [])
  assert.deepEqual(resolved({ grants: { net_allowlist: ['https://*.example.com'] } }).netAllowlist, [
    'https://*.example.com',
  ])
  refused({ egress: { allow: [] } }, 'spec.egress.allow', /does not cover the endpoint/)
  refused(
    { egress: { allow: ['https://tool.example.com.evil.test'] } },
    'spec.egress.allow',
    /does not cover the endpoint/,
  )
  refused(
    { grants: { net_allowlist: ['https://other.example.com'] } },
    'spec.grants.net_allowlist',
    /does not cover/,
  )
})

test('an origin has no path and no star inside, and one list is enough', () => {
  for (const entry of [
    'https://a.example.com/v1',
    'ftp://a.example.com',
    '*',
    'https://*',
    'https://*.com',
    'https://a*.example.com',
    '',
  ]) {
    refused(
      { egress: { allow: ['https://tool.example.com', entry] } },
      'spec.egress.allow[1]',
      /is no origin/,
    )
  }
  const allow = ['https://tool.example.com']
  refused(
    { egress: { allow }, grants: { net_allowlist: allow } },
    'spec.grants.net_allowlist',
    /says the same/,
  )
})

test('S33: a list for a type that connects by itself refuses calls', () => {
  refusesCalls(
    loose({
      type: 'wasm',
      endpoint: undefined,
      wasm: { module: 'a.wasm' },
      egress: { allow: ['a.example.com'] },
    }),
    'spec.egress.allow',
    'control-unavailable',
  )
})
