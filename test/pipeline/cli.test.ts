// Calls of programs through the whole runtime: what is denied, what is tried again, what is unknown.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fixOf } from '../../src/contract/projection.ts'
import type { RuntimeOptions } from '../../src/runtime.ts'
import { runtimeWith } from './harness.ts'
import { until } from './until.ts'

async function open(t: TestContext, options: RuntimeOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'writ-cli-calls-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const { runtime, door } = await runtimeWith(t, [], {
    cliAllow: ['sh', 'env'],
    onWarning: () => {},
    ...options,
  })
  const runs = join(folder, 'runs')
  const declare = async (script: string, spec: object = {}, cli: object = {}) => {
    const args = ['-c', `echo "$WHAT" >>${runs}; ${script}`]
    const manifest = {
      apiVersion: 'writ.dev/v1',
      kind: 'Tool',
      metadata: { name: 'program' },
      spec: {
        type: 'cli',
        runtime: { isolation_mode: 'none', retry: { max_attempts: 3, backoff: '1ms' } },
        effect: { class: 'read-only' },
        cli: { command: 'sh', args, env: { PATH: '/usr/bin:/bin' }, ...cli },
        ...spec,
      },
    }
    return runtime.resources.apply([{ text: JSON.stringify(manifest), file: 'program.json' }])
  }
  /** The operation of each start, where the program is told it. */
  const starts = () => readFileSync(runs, 'utf8').split('\n').slice(0, -1)
  const count = () => starts().length
  return { runtime, door, declare, count, starts }
}

const WRITE = { effect: { class: 'external-communication' } }

test('a code that is not declared is not tried again, also of a read', async (t) => {
  const { door, declare, count } = await open(t)
  await declare('exit 1')
  const answer = await door.call({ tool: 'program' })
  assert.deepEqual([answer.failure?.id, answer.failure?.retryable, count()], ['tool-crashed', false, 1])
})

test('S23, S24: a declared code is tried again where that is harmless', async (t) => {
  const { door, declare, count } = await open(t)
  await declare('exit 75', {}, { exit_codes: { 75: { retryable: true } } })
  const read = await door.call({ tool: 'program' })
  assert.deepEqual([read.failure?.id, read.failure?.retryable, count()], ['upstream-error', true, 3])
  await declare('exit 75', { ...WRITE, version: '1.0.0' }, { exit_codes: { 75: { retryable: true } } })
  const write = await door.call({ tool: 'program' })
  assert.deepEqual([write.state, write.effect, count()], ['unknown', 'unknown', 4])
  const none = { 75: { effect: 'none', retryable: true } }
  await declare('exit 75', { ...WRITE, version: '2.0.0' }, { exit_codes: none })
  const harmless = await door.call({ tool: 'program' })
  assert.deepEqual([harmless.state, harmless.effect], ['failed', 'not-done'])
})

test('a program that is killed leaves the effect of a write unknown', async (t) => {
  const { door, declare } = await open(t)
  await declare('kill -KILL $$', WRITE)
  const answer = await door.call({ tool: 'program' })
  assert.deepEqual([answer.failure?.id, answer.effect], ['tool-crashed', 'unknown'])
})

test('S2: a deadline ends the program, and a write is unknown', async (t) => {
  const { door, declare } = await open(t)
  await declare('exec sleep 600', WRITE)
  const answer = await door.call({ tool: 'program', timeoutMs: 300 })
  assert.deepEqual([answer.failure?.id, answer.effect], ['timeout-unknown-commit', 'unknown'])
})

test('an input that cannot be made into arguments is invalid, and nothing ran', async (t) => {
  const { door, declare } = await open(t)
  await declare('exit 0', WRITE, { command: 'env', args: ['{{.flag}}'] })
  const answer = await door.call({ tool: 'program', input: { flag: '--version' } })
  assert.deepEqual(
    [answer.state, answer.failure?.id, answer.effect],
    ['invalid', 'input-invalid', 'not-done'],
  )
  assert.match(JSON.stringify(answer.failure?.details), /"path":"\/flag".*"argument":1/)
})

test('without a list nothing runs; the caller is denied, and the key is free', async (t) => {
  const { door, declare } = await open(t, { cliAllow: [] })
  const { problems } = await declare('exit 0', WRITE)
  const warning = problems.find(({ path }) => path === 'spec.cli.command')
  assert.match(warning?.message ?? '', /not on the list of commands that this server runs; calls are refused/)
  const call = () => door.call({ tool: 'program', idempotencyKey: 'one' })
  for (const answer of [await call(), await call()])
    assert.deepEqual(
      [answer.state, answer.failure?.id, answer.effect],
      ['denied', 'capability-denied', 'not-done'],
    )
  const { failure } = await call()
  assert.doesNotMatch(failure?.message ?? '', /Fix:/)
  assert.ok(failure)
  assert.equal(fixOf(failure, 'not-done'), 'The operator adds sh to cli_allow.')
})

test('S33: the default isolation, a container, fails closed', async (t) => {
  const { door, declare } = await open(t)
  await declare('exit 0', { runtime: {} }, { image: 'localhost/none:1' })
  assert.equal((await door.call({ tool: 'program' })).failure?.id, 'isolation-unavailable')
})

test('S51: profile production takes no program on the host', async (t) => {
  const { declare } = await open(t, { profile: 'production' })
  const applied = await declare('exit 0')
  assert.equal(applied.ok, false)
  assert.match(JSON.stringify(applied.problems), /would run the program on the host/)
})

test('a list that names no command is refused before a store is opened', async (t) => {
  await assert.rejects(open(t, { cliAllow: ['./jq'] }), /cli_allow: '\.\/jq' is no command\. Fix:/)
})

test('S22, S27: a program is asked about its effect only where it is told so, and then acts once', async (t) => {
  const { door, declare, starts } = await open(t)
  const spec = {
    operations: { invoke: {}, ask: { effect: { class: 'read-only' }, output_schema: {} } },
    effect: { ...WRITE.effect, status_query: 'ask' },
  }
  const script = `[ "$WHAT" = ask ] || exit 1; echo '{"state":"done","output":"booked"}'`
  const deaf = await declare(script, spec)
  assert.equal(deaf.ok, false)
  assert.match(JSON.stringify(deaf.problems), /is not told which operation it is started for/)
  const told = await declare(script, spec, { env_call: { WHAT: 'operation' } })
  assert.ok(told.ok, JSON.stringify(told.problems))
  const call = () => door.call({ tool: 'program', idempotencyKey: 'one' })
  await call()
  await until(async () => (await call()).state === 'succeeded')
  const { effect, output } = await call()
  assert.deepEqual([effect, output], ['done', 'booked'])
  const effects = starts().filter((operation) => operation === 'invoke')
  assert.deepEqual([effects.length, starts().includes('ask')], [1, true])
})
