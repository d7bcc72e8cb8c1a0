import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readManifests } from '../../src/resource/manifest.ts'
import type { McpServerManifest } from '../../src/resource/mcp-server.ts'
import { cleanText } from '../../src/resource/mcp-text.ts'
import { generatedName } from '../../src/resource/mcp-tool.ts'
import { planApply } from '../../src/resource/plan-apply.ts'
import { resolveMcpServer } from '../../src/resource/resolve-mcp-server.ts'
import type { JsonObject } from '../../src/util/json.ts'

const LOCAL = { profile: 'local', effectDefault: 'declared' } as const
const PRODUCTION = { ...LOCAL, profile: 'production' } as const

function manifest(spec: JsonObject): string {
  return JSON.stringify({ apiVersion: 'writ.dev/v1', kind: 'McpServer', metadata: { name: 'files' }, spec })
}

function resolve(spec: JsonObject, options: Parameters<typeof resolveMcpServer>[1] = LOCAL) {
  const { documents, problems } = readManifests(manifest(spec), 'server.json')
  assert.deepEqual(problems, [])
  return resolveMcpServer(documents[0]?.manifest as McpServerManifest, options)
}

/** The errors and warnings of a spec, as one line each. */
function said(spec: JsonObject, options: Parameters<typeof resolveMcpServer>[1] = LOCAL): readonly string[] {
  const { documents, problems } = readManifests(manifest(spec), 'server.json')
  const plan = planApply([], documents, options)
  return [...problems, ...plan.problems].map(
    ({ severity, path, message }) => `${severity} ${path}: ${message}`,
  )
}

test('a program: its command is split at white space, its environment is what is declared', () => {
  const { resolved } = resolve({
    transport: 'stdio',
    command: '  npx   -y some-server ',
    args: ['--root', '/a b'],
    env: [
      { name: 'LANG', value: 'C' },
      { name: 'TOKEN', secretRef: 'token', key: 'pat' },
    ],
  })
  assert.deepEqual(resolved?.connection, {
    kind: 'stdio',
    command: 'npx',
    args: ['-y', 'some-server', '--root', '/a b'],
    env: { LANG: 'C' },
    envFrom: [{ name: 'TOKEN', secretRef: 'token', key: 'pat' }],
  })
  assert.deepEqual(resolved?.reconnect, { maxAttempts: 3, backoffMs: 2_000 })
  assert.deepEqual([resolved?.idleMs, resolved?.resyncMs, resolved?.concurrency], [600_000, 300_000, 16])
})

test('a secret of another namespace for the environment of a program is warned of, as for a Tool', () => {
  const env = [{ name: 'TOKEN', secretRef: 'blue/token' }]
  assert.deepEqual(said({ transport: 'stdio', command: 'a', env }), [
    "warning spec.env[0].secretRef: refers to the namespace 'blue'",
  ])
  const own = [{ name: 'TOKEN', secretRef: 'default/token' }]
  assert.deepEqual(said({ transport: 'stdio', command: 'a', env: own }), [])
  const wrong = [{ name: 'TOKEN', secretRef: 'a b' }]
  assert.match(said({ transport: 'stdio', command: 'a', env: wrong }).join(), /error spec.env\[0\].secretRef/)
})

test('an idle timeout of 0 means never', () => {
  for (const idle of ['0', '0s']) {
    assert.equal(
      resolve({ transport: 'stdio', command: 'a', idle_timeout: idle }).resolved?.idleMs,
      undefined,
    )
  }
})

test('a service: egress and auth are read as those of a Tool, with X-API-Key as the header of old', () => {
  const auth = { profile: 'api_key_header', secretRef: 'key' }
  const { resolved } = resolve(
    { transport: 'http', endpoint: 'https://mcp.example.com/mcp', auth },
    PRODUCTION,
  )
  assert.deepEqual(resolved?.connection, {
    kind: 'http',
    endpoint: 'https://mcp.example.com/mcp',
    allow: [],
    reach: 'public',
  })
  assert.equal(resolved?.auth?.headerName, 'X-API-Key')
})

test('labels change the row and not the connection', () => {
  const spec = { transport: 'stdio', command: 'a' }
  const plain = resolve(spec)
  const labelled = resolve({ ...spec, tools: { x: { effect: { class: 'read-only' } } } })
  assert.notEqual(plain.digest, labelled.digest)
  assert.equal(plain.resolved?.digest, labelled.resolved?.digest)
})

const wrong: readonly (readonly [what: string, spec: JsonObject, expected: RegExp])[] = [
  ['no command', { transport: 'stdio' }, /error spec\.command: is missing/],
  ['no endpoint', { transport: 'http' }, /error spec\.endpoint: is missing/],
  [
    'fields of the other transport',
    { transport: 'http', endpoint: 'https://a.b/', command: 'x' },
    /error spec\.command: is for transport stdio/,
  ],
  [
    'both kinds of value',
    { transport: 'stdio', command: 'a', env: [{ name: 'A', value: 'x', secretRef: 'y' }] },
    /error spec\.env\[0\]: needs either/,
  ],
  [
    'a variable twice',
    {
      transport: 'stdio',
      command: 'a',
      env: [
        { name: 'A', value: 'x' },
        { name: 'A', value: 'y' },
      ],
    },
    /error spec\.env\[1\]\.name: A is there twice/,
  ],
  [
    'a variable that loads other code',
    { transport: 'stdio', command: 'a', env: [{ name: 'LD_PRELOAD', value: '/x.so' }] },
    /error spec\.env\[0\]\.name: LD_PRELOAD decides/,
  ],
  [
    'a private address without a reason',
    { transport: 'http', endpoint: 'http://10.0.0.1/' },
    /error spec\.endpoint: is a private address/,
  ],
  [
    'a metadata address',
    { transport: 'http', endpoint: 'http://169.254.169.254/', allowPrivate: true },
    /error spec\.endpoint: is link-local/,
  ],
  [
    'a credential in the address',
    { transport: 'http', endpoint: 'https://u:p@a.b/' },
    /error spec\.endpoint: holds a user name/,
  ],
  [
    'labels that contradict themselves',
    {
      transport: 'stdio',
      command: 'a',
      tools: { x: { effect: { class: 'read-only', determinism: 'side_effectful' } } },
    },
    /error spec\.tools\.x\.effect/,
  ],
  [
    'a label that is no field',
    { transport: 'stdio', command: 'a', tools: { x: { risk: 'low' } } },
    /error spec\.tools\.x\.risk/,
  ],
  [
    'a capability that is none',
    { transport: 'stdio', command: 'a', tools: { x: { capabilities: ['read'] } } },
    /error spec\.tools\.x\.capabilities\[0\]/,
  ],
  [
    'a timeout that is none',
    { transport: 'stdio', command: 'a', default_tool_runtime: { timeout: 'soon' } },
    /error spec\.default_tool_runtime\.timeout/,
  ],
  ['a resync without a pause', { transport: 'stdio', command: 'a', resync: '10ms' }, /error spec\.resync/],
  [
    'an image to pull for nothing',
    { transport: 'stdio', command: 'a', image_pull_secret: 'x' },
    /error spec\.image_pull_secret/,
  ],
]
for (const [what, spec, expected] of wrong) {
  test(`refuses ${what}`, () => {
    assert.ok(
      said(spec).some((line) => expected.test(line)),
      said(spec).join('\n'),
    )
  })
}

test('warns of labels that label nothing, of allowPrivate, and of containers', () => {
  const spec = { transport: 'stdio', command: 'a', tools: { x: { risk_level: 'low' } } }
  assert.match(said(spec).join('\n'), /warning spec\.tools\.x: does not say what the tool does/)
  const inside = { transport: 'http', endpoint: 'http://10.0.0.1/', allowPrivate: true }
  assert.match(said(inside).join('\n'), /warning spec\.allowPrivate: gives no reason/)
  assert.ok(!said(inside).some((line) => line.startsWith('error')), said(inside).join('\n'))
  assert.match(
    said({ transport: 'stdio', image: 'x' }).join('\n'),
    /warning spec\.image: containers are not built/,
  )
  const boxed = resolve({ transport: 'stdio', image: 'x' }).warnings.find(({ path }) => path[1] === 'image')
  assert.match(boxed?.fix ?? '', /command: PROGRAM/)
})

test('a field that other products call otherwise is suggested', () => {
  const { problems } = readManifests(
    manifest({ transport: 'http', url: 'https://a.example/' }),
    'server.json',
  )
  assert.deepEqual(
    problems.map(({ path, fix }) => [path, fix]),
    [['spec.url', 'did you mean endpoint?']],
  )
})

test('S51: profile production starts only programs that the host allows, and reaches no loopback', () => {
  const spec = { transport: 'stdio', command: 'npx -y x' }
  assert.match(said(spec, PRODUCTION).join('\n'), /error spec\.command: 'npx' would run on the host/)
  assert.deepEqual(said(spec, { ...PRODUCTION, hostCommands: ['npx'] }), [])
  const near = { transport: 'http', endpoint: 'http://127.0.0.1:8080/' }
  assert.match(said(near, PRODUCTION).join('\n'), /error spec\.endpoint/)
})

test('S46: a Tool of type mcp, or its pin, is not written by hand', () => {
  const tool = (spec: JsonObject) => {
    const text = JSON.stringify({ apiVersion: 'writ.dev/v1', kind: 'Tool', metadata: { name: 'x' }, spec })
    return planApply([], readManifests(text, 'tool.json').documents, LOCAL).problems.map(
      ({ message }) => message,
    )
  }
  const mcp = { pin: 1, digest: 'sha256:x', labelled: true }
  assert.ok(
    tool({ type: 'mcp', mcp_server_ref: 'a', mcp_tool_name: 'b', mcp }).includes(
      'mcp is not written by hand',
    ),
  )
  const pinned = tool({ type: 'http', endpoint: 'https://a.b/', mcp })
  assert.ok(pinned.includes('is written by the runtime, for type mcp'))
})

test('S27: labels of a tool have no operations to name, and the error does not send anybody to them', () => {
  const ways: Readonly<Record<string, readonly [effect: JsonObject, message: RegExp, fix: RegExp]>> = {
    status_query: [{ status_query: 'invoke' }, /is the operation itself/, /^remove it: /],
    'status_query.url': [
      { status_query: { url: 'https://a.example/{key}' } },
      /only read for type http/,
      /^remove it: /,
    ],
    compensation: [{ compensation: 'undo' }, /has no operation 'undo'/, /^name another tool: compensation/],
  }
  for (const [way, [named, message, fix]] of Object.entries(ways)) {
    const effect = { class: 'external-communication', ...named }
    const { errors } = resolve({ transport: 'stdio', command: 'a', tools: { send: { effect } } })
    assert.deepEqual(
      errors.map(({ path }) => path.join('.')),
      [`spec.tools.send.effect.${way}`],
    )
    assert.match(errors[0]?.message ?? '', message)
    assert.match(errors[0]?.fix ?? '', fix)
  }
})

test('names and texts of a server: what they become here', () => {
  assert.equal(generatedName('files', 'read_file.v2'), 'files--read-file-v2')
  assert.equal(generatedName('files', 'a/b'), undefined)
  assert.equal(generatedName('files', 'x'.repeat(130)), undefined)
  assert.equal(cleanText('a\u001b]0;title\u0007b\u001b[2Jc\u0000d\u202ee\u{e0041}f\ng', 100), 'abcdef\ng')
  assert.equal(cleanText('ééé', 5), 'éé')
})
