// Where a tool may go: its list of origins, how far in, and the strict profile.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpointUrl, outsideEgress } from '../../src/resource/egress-rule.ts'
import { allowsUrl, parseAllowedOrigin } from '../../src/resource/net-allowlist.ts'
import { lines, PRODUCTION, refused, refusesCalls, resolve, resolved, warned } from './support.ts'

const WHY = 'it is in our own network'

test('S51: profile local reaches this machine, production does not; private addresses need a reason', () => {
  assert.equal(resolved({}).reach, 'loopback')
  assert.equal(resolved({}, PRODUCTION).reach, 'public')
  assert.equal(resolved({ egress: { private: WHY } }).reach, 'private')
  assert.equal(resolved({ egress: { private: WHY } }, PRODUCTION).reach, 'intranet')
  const local = 'http://localhost:1/'
  refused({ endpoint: local, egress: { private: WHY } }, 'spec.endpoint', /on this machine/, PRODUCTION)
  refused({ egress: { private: ' ' } }, 'spec.egress.private', /is empty/)
})

test('a literal private address needs the reason, a link-local one is never an endpoint', () => {
  for (const host of ['10.0.0.8', '192.168.1.1', '[fd00::1]', '[::ffff:10.0.0.1]', '0xa000001', '012.1']) {
    refused({ endpoint: `https://${host}/run` }, 'spec.endpoint', /is a private address/)
    assert.ok(resolved({ endpoint: `https://${host}/run`, egress: { private: WHY } }))
  }
  for (const host of ['169.254.169.254', '[fe80::1]', '0.0.0.0', '2852039166', '100.100.100.200']) {
    const spec = { endpoint: `http://${host}/run`, egress: { private: WHY } }
    refused(spec, 'spec.endpoint', /where no tool lives/)
  }
})

test('a reason that nothing needs is warned of', () => {
  const says = /is not needed/
  warned({ endpoint: 'https://8.8.8.8/', egress: { private: WHY } }, 'spec.egress.private', says)
  warned({ endpoint: 'http://localhost:1/', egress: { private: WHY } }, 'spec.egress.private', says)
  assert.deepEqual(
    lines(resolve({ egress: { private: WHY } }).warnings),
    [],
    'what a name stands for is not known',
  )
})

test('an allowed origin covers exactly what it says', () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['https://api.x.com', 'https://api.x.com/', true],
    ['https://api.x.com', 'https://API.X.COM/', true],
    ['HTTPS://API.X.COM', 'https://api.x.com/', true],
    ['https://api.x.com', 'https://api.x.com:443/', true],
    ['https://api.x.com:443', 'https://api.x.com/', true],
    ['https://api.x.com', 'https://api.x.com:8443/', false],
    ['https://api.x.com:8443', 'https://api.x.com:8443/', true],
    ['https://api.x.com', 'http://api.x.com/', false],
    ['api.x.com', 'http://api.x.com/', true],
    ['https://api.x.com', 'https://api.x.com.evil.tld/', false],
    ['https://api.x.com', 'https://evil.tld/api.x.com', false],
    ['https://api.x.com', 'https://evilapi.x.com/', false],
    ['https://api.x.com', 'https://api.x.com@evil.tld/', false],
    ['https://api.x.com', 'https://evil.tld#api.x.com', false],
    ['https://api.x.com', 'https://evil.tld\\@api.x.com/', false],
    ['https://api.x.com', 'https://api.x.com./', false],
    ['https://*.x.com', 'https://api.x.com/', true],
    ['https://*.x.com', 'https://a.b.x.com/', true],
    ['https://*.x.com', 'https://x.com/', false],
    ['https://*.x.com', 'https://evilx.com/', false],
    ['https://*.x.com', 'https://x.com.evil.tld/', false],
    ['https://xn--bcher-kva.example', 'https://bücher.example/', true],
    ['https://bücher.example', 'https://xn--bcher-kva.example/', false],
    ['https://paypal.com', 'https://pаypal.com/', false],
    ['https://[::1]:8443', 'https://[0:0:0:0:0:0:0:1]:8443/', true],
    ['http://127.0.0.1', 'http://2130706433/', true],
    ['http://127.0.0.1', 'http://0x7f.1/', true],
  ]
  for (const [entry, url, expected] of cases)
    assert.equal(allowsUrl([entry], new URL(url)), expected, `${entry} ${url}`)
  for (const entry of [
    'https://a@b.example',
    'https://b.example/x',
    'https://b.example?x',
    '*',
    '*.com',
    'b.example.',
  ])
    assert.equal(parseAllowedOrigin(entry), undefined, entry)
})

test('without a list a tool reaches the origin of its endpoint', () => {
  const own = new URL('https://tool.example.com/run')
  const tool = { ...resolved({}), own }
  assert.equal(outsideEgress(tool, new URL('https://tool.example.com/other')), undefined)
  for (const url of [
    'https://tool.example.com:8443/',
    'http://tool.example.com/',
    'https://a.tool.example.com/',
  ])
    assert.match(outsideEgress(tool, new URL(url)) ?? '', /outside the allowed origins/)
  assert.match(outsideEgress(tool, own, ['https://other.example.com']) ?? '', /net_allowlist/)
  assert.match(outsideEgress(tool, own, []) ?? '', /net_allowlist/)
})

test('sandboxed is strict for what runs elsewhere: its endpoint, no redirects, TLS', () => {
  const runtime = { isolation_mode: 'sandboxed' } as const
  assert.deepEqual(resolved({ runtime }).unenforced, [])
  refused({ runtime, http: { max_redirects: 1 } }, 'spec.http.max_redirects', /follows no redirect/)
  const allow = ['https://tool.example.com', 'https://other.example.com']
  warned({ runtime, egress: { allow } }, 'spec.egress.allow', /reaches the endpoint alone/)
  refusesCalls({ runtime, endpoint: 'http://tool.example.com/' }, 'spec.endpoint', 'isolation-unavailable')
  refusesCalls(
    { risk_level: 'high', endpoint: 'http://a.example/' },
    'spec.endpoint',
    'isolation-unavailable',
  )
  assert.deepEqual(resolved({ runtime, endpoint: 'http://localhost:1/' }).unenforced, [])
  assert.deepEqual(
    resolved({ runtime: { isolation_mode: 'none' }, endpoint: 'http://a.example/' }).unenforced,
    [],
  )
})

test('a gRPC endpoint is an origin, too', () => {
  const origin = (endpoint: string, plaintext = false) => endpointUrl('grpc', endpoint, plaintext)?.origin
  assert.equal(origin('a.example.com:50051'), 'https://a.example.com:50051')
  assert.equal(origin('a.example.com:50051', true), 'http://a.example.com:50051')
  assert.equal(origin('grpcs://a.example.com:443'), 'https://a.example.com')
  assert.equal(origin('https://a.example.com'), 'https://a.example.com')
  const grpc = { type: 'grpc', endpoint: 'a.example.com:50051' } as const
  assert.ok(resolved({ ...grpc, egress: { allow: ['https://a.example.com:50051'] } }))
  refused({ ...grpc, egress: { allow: ['https://b.example.com'] } }, 'spec.egress.allow', /does not cover/)
  refused({ type: 'grpc', endpoint: '10.0.0.1:50051' }, 'spec.endpoint', /is a private address/)
})
