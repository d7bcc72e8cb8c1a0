// Calls of programs through the whole runtime: what is denied, what is tried again, what is unknown.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { RuntimeOptions } from '../../src/runtime.ts'
import { runtimeWith } from './harness.ts'

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
    const args = ['-c', `echo run >>${runs}; ${script}`]
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
  const count = () => readFileSync(runs, 'utf8').split('\n').length - 1
  return { runtime, door, declare, count }
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
  assert.match(JSON.stringify(answer.failure?.details), /"path":"\/input\/flag"/)
})

test('without a list nothing runs; the caller is denied, and the key is free', async (t) => {
  const { door, declare } = await open(t, { cliAllow: [] })
  await declare('exit 0', WRITE)
  const call = () => door.call({ tool: 'program', idempotencyKey: 'one' })
  for (const answer of [await call(), await call()])
    assert.deepEqual(
      [answer.state, answer.failure?.id, answer.effect],
      ['denied', 'capability-denied', 'not-done'],
    )
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
