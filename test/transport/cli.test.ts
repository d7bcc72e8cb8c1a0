// What a program is given, and what its end means: real programs of this machine.
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { createRedactor } from '../../src/credential/redactor.ts'
import type { ResolvedCli } from '../../src/resource/resolved-cli.ts'
import type { ResolvedOperation, ResolvedTool } from '../../src/resource/resolved-tool.ts'
import { createCliTransport } from '../../src/transport/cli.ts'
import type { Refusal, Send } from '../../src/transport/transport.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { Json } from '../../src/util/json.ts'
import { makeCli } from './cli-bench.ts'
import { presented } from './presented.ts'
import { makeOperation, makeSend, makeSink, makeTool } from './send-fixture.ts'
import { refusal, success } from './transport-contract.ts'

const NODE = process.execPath
const world = createSystemWorld()
const folder = mkdtempSync(join(tmpdir(), 'writ-cli-test-'))
const transport = createCliTransport({
  world,
  cliAllow: [NODE, 'env', 'sh', 'cat', 'head', 'gone-away', '/bin/ls'],
})
after(async () => {
  await transport.close()
  await world.network.close()
  rmSync(folder, { recursive: true })
})

interface Given {
  readonly operation?: Partial<ResolvedOperation>
  readonly tool?: Partial<ResolvedTool>
  readonly send?: Partial<Send>
}

const attempt = (
  cli: Partial<ResolvedCli>,
  input: Json | undefined = {},
  given: Given = {},
  sink = makeSink(),
) => {
  const tool = makeTool({ type: 'cli', cli: makeCli(cli), ...given.tool }, makeOperation(given.operation))
  return transport.attempt(makeSend(tool, input, given.send), sink)
}

async function output(cli: Partial<ResolvedCli>, input?: Json, given?: Given): Promise<Json> {
  return success(await attempt(cli, input, given)).output
}

/** What a program finds in its environment. Node itself hands on where coverage goes, in a run that takes it. */
async function environment(cli: Partial<ResolvedCli>, send: Given['send'] = {}): Promise<readonly string[]> {
  const text = String(await output({ command: 'env', ...cli }, {}, { send }))
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('NODE_V8_COVERAGE='))
}

/** Refused, and nothing was started. */
async function unsent(cli: Partial<ResolvedCli>, input?: Json, given?: Given): Promise<Refusal> {
  const sink = makeSink()
  const reply = refusal(await attempt(cli, input, given, sink))
  assert.deepEqual([sink.sent, reply.definite], [0, true], JSON.stringify(reply))
  return reply
}

/** Prints its arguments as JSON. */
const SHOW = ['-e', 'console.log(JSON.stringify(process.argv.slice(1)))', '--']
const shown = (args: readonly string[], input: Json, more: Partial<ResolvedCli> = {}) =>
  output({ command: NODE, args: [...SHOW, ...args], ...more }, input, { operation: { outputSchema: {} } })

const sh = (script: string, more: Partial<ResolvedCli> = {}): Partial<ResolvedCli> => ({
  command: 'sh',
  args: ['-c', script],
  ...more,
})

describe('arguments of a program', () => {
  it('each entry gives exactly one, whatever is in it: there is no shell', async () => {
    const hostile = [
      '$(id)',
      '`id`',
      '; rm -rf /',
      'a b\tc',
      '"\'\\',
      'line\nbreak\r\n',
      '*',
      '~',
      '%s',
      '🐎 ž',
      '\u2028',
      '',
      ' -x',
    ]
    for (const text of hostile) assert.deepEqual(await shown(['{{.text}}', 'last'], { text }), [text, 'last'])
  })

  it('literals are taken as they are, templates see the input, and missing fields are empty', async () => {
    const args = [
      '-n',
      '--name={{.name}}',
      '{{index .tags 1}}',
      '{{.missing.deeper}}',
      '{{json .}}',
      '{{ "{{" }}',
    ]
    const input = { name: '-x', tags: ['a', 'b'] }
    assert.deepEqual(await shown(args, input), ['-n', '--name=-x', 'b', '', JSON.stringify(input), '{{'])
  })

  it('one that begins with - because of the input is refused, unless the tool allows it', async () => {
    for (const text of ['-rf', '--config=/etc/shadow', '-', '--']) {
      const reply = await unsent({ command: NODE, args: [...SHOW, '{{.text}}'] }, { text })
      assert.equal(reply.failure, 'input-invalid')
      const { violations } = reply.details as { violations: { path: string; message: string }[] }
      const [violation] = violations
      assert.deepEqual([violation?.path, reply.details?.argument], ['/text', 4])
      assert.match(violation?.message ?? '', /argument 4 of the program would begin with -/)
      assert.deepEqual(await shown(['{{.text}}'], { text }, { allowDash: true }), [text])
    }
    assert.deepEqual(await shown(['-{{.n}}', '{{if .on}}-v{{end}}'], { n: 5, on: true }), ['-5', '-v'])
  })

  it('a NUL, a template that fails, and more than a system takes are refused before anything runs', async () => {
    const nul = await unsent({ command: NODE, args: [...SHOW, 'x{{.text}}'] }, { text: 'a\0b' })
    assert.match(JSON.stringify(nul.details), /would hold a NUL/)
    assert.equal(
      (await unsent({ command: NODE, args: ['{{index .list 9}}'] }, { list: [] })).failure,
      'input-invalid',
    )
    assert.equal((await unsent({ command: NODE, args: ['{{.name}}'] }, 'text')).failure, 'input-invalid')
    const large = await unsent({ command: NODE, args: ['x{{.text}}'] }, { text: 'x'.repeat(1_000_000) })
    assert.equal(large.failure, 'input-invalid')
    const args = [...SHOW, ...Array.from({ length: 9 }, () => '{{.text}}')]
    assert.equal(
      (await unsent({ command: NODE, args }, { text: 'x'.repeat(131_000) })).failure,
      'input-too-large',
    )
    assert.equal(((await shown(args.slice(3, 10), { text: 'x'.repeat(131_000) })) as string[]).length, 7)
  })

  it('templates that would loop for long end soon', async () => {
    const began = performance.now()
    const body = '{{range .list}}{{range $.list}}{{range $.list}}{{end}}{{end}}{{end}}'
    const list = Array.from({ length: 1_000 }, (_, n) => n)
    const reply = await unsent({ command: NODE, args: Array.from({ length: 50 }, () => body) }, { list })
    assert.equal(reply.failure, 'input-invalid')
    assert.ok(performance.now() - began < 5_000)
  })
})

describe('what else a program is given', () => {
  it('W11: its environment is empty but for what is declared', async (t) => {
    // Settings and secrets of the server are there, and must not be seen.
    process.env.WRIT_TEST_LEAK = 'must not be seen'
    t.after(() => delete process.env.WRIT_TEST_LEAK)
    assert.deepEqual(await environment({}), [])
    const env = { A: '1', B: 'two words', EMPTY: '' }
    assert.deepEqual(await environment({ env }), ['A=1', 'B=two words', 'EMPTY='])
  })

  it('it is told of its call only where the tool names a variable', async () => {
    const envCall = {
      K: 'key',
      N: 'attempt',
      T: 'traceparent',
      O: 'operation',
      R: 'request_id',
      C: 'call_id',
    } as const
    assert.deepEqual(await environment({ envCall }, { attempt: 3 }), [
      'K=k3y_k3y-k3yk3yk3yk3yk3yk3yk3yk3yk3yk3yk3yk3',
      'N=3',
      'T=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'O=invoke',
      'R=req-1',
      'C=01890000-0000-7000-8000-000000000001',
    ])
  })

  it('its input is empty, the JSON of the input, or the text itself', async () => {
    assert.equal(await output({ command: 'cat' }, { a: 1 }), '')
    const given = { command: 'cat', stdinFromInput: true }
    assert.equal(await output(given, { a: [1, 'ž'] }), '{"a":[1,"ž"]}')
    assert.equal(await output(given, 'as it is\n'), 'as it is\n')
    assert.equal(
      await output(given, 'quoted', { operation: { inputSchema: { type: 'string' } } }),
      '"quoted"',
    )
  })

  it('a program that does not read its input is no failure', async () => {
    const input = { text: 'x'.repeat(900_000) }
    assert.equal(await output(sh('exit 0', { stdinFromInput: true }), input), '')
    assert.equal(await output({ command: 'head', args: ['-c', '3'], stdinFromInput: true }, input), '{"t')
  })

  it('it starts in its folder, and in / where none is named', async () => {
    assert.equal(await output(sh('pwd -P')), '/\n')
    assert.equal(await output(sh('pwd -P', { workingDir: folder })), `${folder}\n`)
    const missing = await unsent(sh('pwd', { workingDir: join(folder, 'nothing') }))
    assert.deepEqual([missing.failure, missing.details?.path], ['config-invalid', 'spec.cli.working_dir'])
  })
})

describe('which programs run', () => {
  it('an empty list allows none, and what is not on it is denied', async () => {
    const bare = createCliTransport({ world })
    const sink = makeSink()
    const tool = makeTool({ type: 'cli', cli: makeCli({ command: 'env' }) })
    const reply = refusal(await bare.attempt(makeSend(tool, {}), sink))
    assert.deepEqual([reply.failure, reply.definite, sink.sent], ['capability-denied', true, 0])
    assert.equal(reply.fix, 'The operator adds env to cli_allow.')
    await bare.close()
    for (const command of ['id', '/usr/bin/id', '/etc/passwd', '/nowhere/env', '/usr/bin/../bin/id', 'gone'])
      assert.equal((await unsent({ command })).failure, 'capability-denied', command)
  })

  it('a name and its whole path are the same program, through folders that are links', async () => {
    const real = join(folder, 'real')
    mkdirSync(real)
    writeFileSync(join(real, 'one'), '#!/bin/sh\necho one\n')
    writeFileSync(join(real, 'two'), '#!/bin/sh\necho two\n')
    for (const name of ['one', 'two']) chmodSync(join(real, name), 0o755)
    symlinkSync(real, join(folder, 'link'))
    symlinkSync('two', join(real, 'other'))
    const own = createCliTransport({ world, cliAllow: [join(folder, 'link/one'), join(real, 'other')] })
    const run = (path: string) => {
      const tool = makeTool({ type: 'cli', cli: makeCli({ command: join(folder, path) }) })
      return own.attempt(makeSend(tool, {}), makeSink())
    }
    assert.equal(success(await run('real/one')).output, 'one\n')
    assert.equal(success(await run('link/one')).output, 'one\n')
    assert.equal(success(await run('link/other')).output, 'two\n')
    // One file can be many programs, each by its name: to allow one allows no other.
    assert.equal(refusal(await run('real/two')).failure, 'capability-denied')
    await own.close()
    assert.equal(typeof (await output({ command: 'ls', args: ['/'] })), 'string')
  })

  it('one that is allowed and not there, or cannot be started, is a fault of the configuration', async () => {
    const gone = await unsent({ command: 'gone-away' })
    assert.match(gone.message ?? '', /no program 'gone-away' is in /)
    assert.match(gone.fix ?? '', /installs it/)
    const path = join(folder, 'broken')
    writeFileSync(path, '#!/nowhere/interpreter\n')
    chmodSync(path, 0o755)
    const own = createCliTransport({ world, cliAllow: [path] })
    const tool = makeTool({ type: 'cli', cli: makeCli({ command: path }) })
    const reply = refusal(await own.attempt(makeSend(tool, {}), makeSink()))
    assert.deepEqual(
      [reply.failure, reply.definite, reply.details?.error],
      ['config-invalid', true, 'ENOENT'],
    )
    rmSync(path)
    assert.equal(refusal(await own.attempt(makeSend(tool, {}), makeSink())).failure, 'config-invalid')
    await own.close()
  })

  it('a list that names no command is refused when it is given', () => {
    for (const entry of ['', ' ', 'bin/jq', './jq', 'a\0b'])
      assert.throws(
        () => createCliTransport({ world, cliAllow: [entry] }),
        /is no command\. Fix: write a name/,
      )
  })

  it('S33: any isolation but none is refused', async () => {
    for (const isolation of ['container', 'sandboxed', 'kubernetes', 'wasm'] as const)
      assert.equal(
        (await unsent({ command: 'env' }, {}, { tool: { isolation } })).failure,
        'isolation-unavailable',
      )
  })
})

describe('the output of a program', () => {
  it('is text as it was written, or JSON where the tool declares what it looks like', async () => {
    assert.equal(await output(sh('echo " 42 "')), ' 42 \n')
    assert.equal(await output(sh('echo 42'), {}, { operation: { outputSchema: { type: 'number' } } }), 42)
    assert.equal(await output(sh('echo 42'), {}, { operation: { outputSchema: { type: 'string' } } }), '42\n')
    const wrong = refusal(await attempt(sh('echo no json'), {}, { operation: { outputSchema: {} } }))
    assert.deepEqual([wrong.failure, wrong.definite], ['output-invalid', false])
  })

  it('is stdout, stderr or both', async () => {
    const script = 'echo out; echo err >&2'
    assert.equal(await output(sh(script)), 'out\n')
    assert.equal(await output(sh(script, { output: 'stderr' })), 'err\n')
    assert.deepEqual(await output(sh(script, { output: 'both' })), { stdout: 'out\n', stderr: 'err\n' })
  })

  it('must be UTF-8', async () => {
    for (const stream of ['stdout', 'stderr', 'both'] as const) {
      const reply = refusal(await attempt(sh("printf '\\377\\376'; printf '\\377' >&2", { output: stream })))
      assert.equal(reply.failure, 'output-invalid')
    }
    assert.equal(await output(sh("printf '\\357\\273\\277x'")), '\ufeffx')
  })

  it('is bounded, both streams together', async () => {
    const tool = { limits: { inputBytes: 1_000, outputBytes: 10 } }
    assert.equal(await output(sh('printf 0123456789'), {}, { tool }), '0123456789')
    const both = sh('printf 012345; printf 012345 >&2', { output: 'both' })
    for (const cli of [sh('printf 01234567890'), both]) {
      const reply = refusal(await attempt(cli, {}, { tool }))
      assert.deepEqual([reply.failure, reply.details], ['output-too-large', { limit_bytes: 10 }])
    }
  })
})

describe('the end of a program', () => {
  it('a code that is not declared is a crash that is not tried again by itself', async () => {
    for (const code of [1, 2, 126, 255]) {
      const reply = refusal(await attempt(sh(`echo secret >&2; exit ${code}`)))
      assert.equal(reply.failure, 'tool-crashed')
      assert.deepEqual([reply.definite, reply.toolRetryable], [false, false])
      assert.deepEqual(reply.details, { exit_code: code }, 'what is no output is shown to nobody')
    }
  })

  it('S23: a declared code means what the tool says', async () => {
    const exitCodes = {
      4: { effect: 'none', retryable: true, code: 'execution_failed' },
      5: { effect: 'unknown', retryable: true, code: 'rate_limited' },
      6: { effect: 'unknown', retryable: false, code: 'invalid_input' },
      7: { effect: 'unknown', retryable: true, code: 'execution_failed' },
    } as const
    const rows = []
    for (const code of [4, 5, 6, 7]) {
      const { failure, definite, toolRetryable } = refusal(await attempt(sh(`exit ${code}`, { exitCodes })))
      rows.push([failure, definite, toolRetryable])
    }
    assert.deepEqual(rows, [
      ['upstream-error', true, true],
      ['upstream-throttled', true, true],
      ['upstream-rejected', true, false],
      ['upstream-error', false, true],
    ])
  })

  it('shows the end of stderr where that is an output of the tool', async () => {
    const script = `head -c 5000 /dev/zero | tr '\\0' x >&2; echo no such pod >&2; exit 1`
    const env = { PATH: '/usr/bin:/bin' }
    const reply = refusal(await attempt(sh(script, { output: 'both', env })))
    const { stderr } = reply.details as { stderr: string }
    assert.match(stderr, /^x+no such pod\n$/)
    assert.equal(stderr.length, 2_048)
  })

  it('S40: a cut in stderr leaves no half of a secret', async () => {
    const secret = 'canary-0123456789-0123456789-0123456789'
    const credentials = { ...presented(), redactor: createRedactor([secret]), env: { SECRET: secret } }
    const script = `printf '%s' "$SECRET" >&2; head -c 2030 /dev/zero | tr '\\0' x >&2; exit 1`
    const cli = sh(script, { output: 'both', env: { PATH: '/usr/bin:/bin' } })
    const reply = refusal(await attempt(cli, {}, { send: { credentials } }))
    assert.doesNotMatch(JSON.stringify(reply), /\d{9}/)
    assert.match(JSON.stringify(reply), /xxx/)
  })

  it('a signal is a crash, one of the system about a limit a limit', async () => {
    const segv = refusal(await attempt(sh('kill -SEGV $$')))
    assert.deepEqual(
      [segv.failure, segv.definite, segv.details],
      ['tool-crashed', false, { signal: 'SIGSEGV' }],
    )
    assert.equal(refusal(await attempt(sh('kill -XCPU $$'))).failure, 'resource-limit')
    assert.match(
      refusal(await attempt(sh('kill -KILL $$'))).message ?? '',
      /SIGKILL, as when memory runs out/,
    )
  })
})
