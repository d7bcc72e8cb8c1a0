// The cli block: what is wrong is said at apply, with its place.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatPath } from '../../src/resource/problem.ts'
import type { ToolSpec } from '../../src/resource/tool.ts'
import { LOCAL, problemsOf, refused, refusesCalls, resolve, resolved, warned } from './support.ts'

const cli = (block: object, rest: object = {}) =>
  ({
    type: 'cli',
    endpoint: undefined,
    runtime: { isolation_mode: 'none' },
    cli: { command: 'jq', ...block },
    ...rest,
  }) as unknown as ToolSpec

test('everything has its default', () => {
  assert.deepEqual(resolved(cli({})).cli, {
    command: 'jq',
    args: [],
    allowDash: false,
    stdinFromInput: false,
    output: 'stdout',
    workingDir: '/',
    env: {},
    envCall: {},
    envFrom: [],
    exitCodes: {},
  })
  assert.deepEqual(resolve(cli({})).warnings, [])
})

test('seed 002: the default isolation is a container, and that fails closed (S33)', () => {
  const boxed = cli({ image: 'jq:1' }, { runtime: undefined })
  assert.equal(resolved(boxed).isolation, 'container')
  refusesCalls(boxed, 'spec.runtime.isolation_mode', 'isolation-unavailable')
})

test('a template that cannot be read is refused with its column', () => {
  refused(cli({ args: ['.', '--x={{.a'] }), 'spec.cli.args[1]', /is no template: column \d+: /)
  refused(cli({ args: ['a\n{{end}}'] }), 'spec.cli.args[0]', /is no template: line 2, column \d+: /)
  for (const text of [
    '{{template "x"}}',
    '{{define "x"}}{{end}}',
    '{{block "x" .}}{{end}}',
    '{{call .f}}',
    '{{nope .}}',
  ])
    refused(cli({ args: [text] }), 'spec.cli.args[0]', /is no template/)
  assert.deepEqual(resolved(cli({ args: ['{', '}}', '{{.a}}', ''] })).cli?.args, ['{', '}}', '{{.a}}', ''])
})

test('what to do about a template is said once', () => {
  for (const text of ['{{template "x"}}', '{{end}}', '{{.a', '{{nope .}}']) {
    const { message = '', fix } = resolve(cli({ args: [text] })).errors[0] ?? {}
    assert.doesNotMatch(message, /Fix:/, text)
    assert.ok(fix !== undefined && !fix.includes('Fix:'), text)
  }
})

test('S33: a command that the server does not run is warned of, where that is certain', () => {
  const says = (command: string, hostCommands?: readonly string[]) => {
    const options = hostCommands === undefined ? LOCAL : { ...LOCAL, hostCommands }
    return resolve(cli({ command }), options).warnings.map(({ message, fix }) => `${message} (${fix})`)
  }
  assert.deepEqual(says('jq', []), [
    "'jq' is not on the list of commands that this server runs; calls are refused (the operator adds jq to cli_allow)",
  ])
  assert.equal(says('/opt/jq', ['du']).length, 1)
  for (const list of [undefined, ['jq'], ['/usr/bin/jq']]) assert.deepEqual(says('jq', list), [])
  assert.deepEqual(says('/bin/jq', ['/usr/bin/jq']), [], 'one folder may be the other')
})

test('what no program can be given is refused', () => {
  refused(cli({ args: ['a\0b'] }), 'spec.cli.args[0]', /holds a NUL/)
  refused(cli({ env: { A: 'a\0b' } }), 'spec.cli.env.A', /holds a NUL/)
  refused(cli({ command: 'a\0b' }), 'spec.cli.command', /holds a NUL/)
  refused(cli({ command: 'bin/jq' }), 'spec.cli.command', /begins nowhere/)
  refused(cli({ command: './jq' }), 'spec.cli.command', /begins nowhere/)
  refused(cli({ working_dir: 'here' }), 'spec.cli.working_dir', /no path from \//)
  refused(cli({ args: Array(1_025).fill('x') }), 'spec.cli.args', /has 1025 entries/)
  warned(cli({ command: 'jq .' }), 'spec.cli.command', /no shell/)
})

test('variables have names, one each, and load no code', () => {
  for (const name of ['1A', 'A B', 'A=B', 'é'])
    refused(cli({ env: { [name]: '' } }), formatPath(['spec', 'cli', 'env', name]), /no name/)
  for (const name of [
    'LD_PRELOAD',
    'LD_LIBRARY_PATH',
    'DYLD_INSERT_LIBRARIES',
    'GCONV_PATH',
    'NODE_OPTIONS',
    'BASH_ENV',
  ])
    refused(cli({ env: { [name]: 'x' } }), `spec.cli.env.${name}`, /would load other code/)
  refused(cli({ env: { A: '1' }, env_call: { A: 'key' } }), 'spec.cli.env_call.A', /in cli\.env already/)
  const twice = [
    { name: 'A', secretRef: 'a' },
    { name: 'A', secretRef: 'b' },
  ]
  refused(cli({ env_from: twice }), 'spec.cli.env_from[1].name', /in cli\.env_from already/)
  const both = [{ name: 'A', secretRef: 'a:b', key: 'c' }]
  refused(cli({ env_from: both }), 'spec.cli.env_from[0].key', /named in secretRef already/)
  refused(
    cli({ env_from: [{ name: 'A', secretRef: 'a b' }] }),
    'spec.cli.env_from[0].secretRef',
    /no reference/,
  )
})

test('S23: exit codes are 1 to 255, also as the numbers that YAML makes of them', () => {
  for (const code of ['0', '256', '-1', 'x', '01'])
    refused(
      cli({ exit_codes: { [code]: {} } }),
      formatPath(['spec', 'cli', 'exit_codes', code]),
      /no exit code/,
    )
  assert.deepEqual(resolved(cli({ exit_codes: { 75: { retryable: true } } })).cli?.exitCodes, {
    75: { effect: 'unknown', retryable: true, code: 'execution_failed' },
  })
  const yaml = `apiVersion: writ.dev/v1
kind: Tool
metadata: {name: probe}
spec:
  type: cli
  runtime: {isolation_mode: none}
  effect: {class: read-only}
  cli:
    command: jq
    exit_codes:
      75: {effect: none, retryable: true}
`
  assert.deepEqual(problemsOf(yaml), [])
  assert.match(problemsOf(yaml.replace('retryable', 'retriable')).join('\n'), /did you mean retryable/)
})

test('S33: what only a container can hold refuses calls on the host', () => {
  refusesCalls(cli({ resources: { memory: '64Mi' } }), 'spec.cli.resources', 'control-unavailable')
  refusesCalls(cli({ network: 'none' }), 'spec.cli.network', 'control-unavailable')
  refusesCalls(cli({}, { grants: { fs: ['/tmp'] } }), 'spec.grants.fs', 'control-unavailable')
  refusesCalls(cli({}, { limits: { memory: '64Mi' } }), 'spec.limits.memory', 'control-unavailable')
  refusesCalls(cli({}, { egress: { allow: [] } }), 'spec.egress.allow', 'control-unavailable')
  warned(cli({ image: 'jq:1' }), 'spec.cli.image', /is not used/)
})

test('S49: the whole block is part of the digest', () => {
  const { digest } = resolved(cli({ args: ['{{.a}}'] }))
  for (const other of [
    { args: ['{{.b}}'] },
    { args: ['{{.a}}'], allow_dash: true },
    { args: ['{{.a}}'], env: { A: '1' } },
  ])
    assert.notEqual(resolved(cli(other)).digest, digest)
  assert.equal(resolved(cli({ args: ['{{.a}}'] })).digest, digest)
})

const WRITE = { class: 'external-communication' } as const
const NAMING = {
  'effect.status_query': { ...WRITE, status_query: 'ask' },
  'effect.compensation': { class: 'reversible-write', compensation: 'ask' },
  'effect.compensation.operation': {
    class: 'reversible-write',
    compensation: { tool: 'probe', operation: 'ask' },
  },
  'effect.two_phase.prepare': { ...WRITE, two_phase: { prepare: 'ask', commit: 'do', rollback: 'undo' } },
  'effect.two_phase.commit': { ...WRITE, two_phase: { commit: 'ask', rollback: 'undo' } },
  'effect.two_phase.rollback': { ...WRITE, two_phase: { commit: 'do', rollback: 'ask' } },
}

test('S22, S27: a program that is not told its operation is started for none but the call itself', () => {
  const operations = { invoke: {}, ask: {}, do: {}, undo: {} }
  for (const [way, effect] of Object.entries(NAMING)) {
    for (const env_call of [undefined, {}, { OPERATION: 'key' }]) {
      const { tool, errors } = resolve(cli({ env_call }, { operations, effect }))
      assert.equal(tool, undefined)
      const found = errors.find(({ path }) => formatPath(path) === `spec.${way}`)
      assert.match(found?.message ?? '', /is not told which operation it is started for/, way)
      assert.match(found?.fix ?? '', /cli\.env_call: \{OPERATION: operation\}/)
    }
    assert.ok(resolved(cli({ env_call: { WHAT: 'operation' } }, { operations, effect })), way)
  }
})

test('S29: the same operation of the same tool undoes what it did only with an input of its own', () => {
  const self = (rest: object) => ({ class: 'reversible-write', compensation: { tool: 'probe', ...rest } })
  refused(cli({}, { effect: self({}) }), 'spec.effect.compensation.tool', /is the operation itself/)
  assert.ok(resolved(cli({}, { effect: self({ input_map: { undo: '/input' } }) })))
})
