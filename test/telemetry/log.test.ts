// Log lines: S53's fields, levels, and that none is lost.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createEvents } from '../../src/event/event.ts'
import { createLog, type LogOptions } from '../../src/telemetry/log.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { ended, started } from './events.ts'

const world = createSystemWorld()
let folder: string
let files = 0

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'writ-log-'))
})
after(async () => {
  await rm(folder, { recursive: true })
  await world.network.close()
})

function open(options: Partial<LogOptions> = {}) {
  const file = join(folder, `${++files}.log`)
  const events = createEvents()
  const log = createLog({ world, destination: { file }, ...options })
  log.watch(events)
  const lines = async (): Promise<Record<string, unknown>[]> => {
    await log.close()
    const text = await readFile(file, 'utf8')
    assert.ok(text === '' || text.endsWith('\n'))
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  }
  return { file, events, log, lines }
}

const S53 = [
  'tool_contract_version', 'tool_request_id', 'tool_attempt', 'tool_status', 'tool_code', 'tool_reason', 'error_code',
  'error_reason', 'retryable', 'trace_id', 'span_id', 'started_at', 'ended_at', 'duration_ms', 'tool_auth_profile',
  'tool_auth_secret_ref', 'tool_id', 'fn', 'call_id', 'determinism', 'timeout_ms', 'idempotency_key_prefix',
] // biome-ignore format: a list reads as a list

test('S53: the end of a call is one info line with every field', async () => {
  const { events, lines } = open()
  events.emit('call:started', started())
  events.emit('call:ended', ended())
  const [line, ...rest] = await lines()
  assert.equal(rest.length, 0)
  for (const field of S53) assert.ok(line && field in line, `the line has no ${field}`)
  assert.equal(line?.level, 'info')
  assert.equal(line?.msg, 'call ended')
  assert.equal(line?.time, '2026-01-02T03:04:05.012Z')
  assert.equal(line?.tool_id, 'web.search')
})

test('the start of a call is a debug line', async () => {
  const { events, lines } = open({ level: 'debug' })
  assert.ok(events.heard('call:started'))
  events.emit('call:started', started())
  events.emit('call:ended', ended())
  assert.deepEqual(
    (await lines()).map(({ level, msg }) => [level, msg]),
    [
      ['debug', 'call started'],
      ['info', 'call ended'],
    ],
  )
})

test('a line that nobody reads costs no event', async () => {
  const { events, log } = open({ level: 'warn' })
  assert.equal(events.heard('call:started'), false)
  assert.equal(events.heard('call:ended'), false)
  await log.close()
})

test('text of a caller cannot start a line of its own', async () => {
  const { events, lines } = open()
  events.emit('call:ended', ended({ tool_request_id: 'a"\n{"level":"fatal"}\u2028' }))
  const all = await lines()
  assert.equal(all.length, 1)
  assert.equal(all[0]?.tool_request_id, 'a"\n{"level":"fatal"}\u2028')
})

test('what a person must settle is a warning, a failed store is fatal', async () => {
  const { events, lines } = open()
  events.emit('entry:unknown', { entry_id: 'e', call_id: 'c', tool_id: 't', failure: 'interrupted' })
  events.emit('recovery:ended', { unknown: 2, closed: 1 })
  events.emit('recovery:ended', { unknown: 0, closed: 0 })
  events.emit('store:failed', { message: 'disk full' })
  assert.deepEqual(
    (await lines()).map(({ level }) => level),
    ['warn', 'warn', 'info', 'fatal'],
  )
})

test('what is settled, taken over, put off or out of reach has a line of its own level', async () => {
  const { events, lines } = open()
  const entry = { entry_id: 'e', call_id: 'c', tool_id: 't' }
  events.emit('entry:settled', { ...entry, state: 'done', by: 'person' })
  events.emit('life:ended', { epoch: 'x' })
  events.emit('timer:failed', { namespace: 'default', kind: 'rollback', subject: 'e', error: 'Error at x' })
  events.emit('store:away', { message: 'connection refused' })
  events.emit('store:back', { away_ms: 1200 })
  events.emit('audit:failed', { what: 'anchor', message: 'disk full' })
  events.emit('audit:rewound', { message: 'checkpoint 7 is gone' })
  const why = 'vault cannot be reached: https://vault.internal:8200: ECONNREFUSED'
  events.emit('secret:failed', { namespace: 'default', secret: 'mail', provider: 'vault', why })
  const all = await lines()
  assert.deepEqual(
    all.map(({ level }) => level),
    ['info', 'warn', 'warn', 'error', 'info', 'warn', 'error', 'warn'],
  )
  assert.equal(all[0]?.by, 'person')
  assert.equal(all[4]?.away_ms, 1200)
  assert.equal(all[7]?.why, why, 'where it was looked for is for the operator')
})

test('a fatal line has left when the call that writes it returns', async () => {
  const { events, log, file } = open()
  events.emit('store:failed', { message: 'disk full' })
  assert.match(await readFile(file, 'utf8'), /disk full/)
  await log.close()
})

test('close writes every line, in order, in more than one batch', async () => {
  const { events, lines, log } = open()
  for (let i = 0; i < 5000; i++) events.emit('call:ended', ended({ tool_request_id: `r${i}` }))
  const all = await lines()
  assert.equal(log.dropped, 0)
  assert.deepEqual(
    all.map((line) => line.tool_request_id),
    Array.from({ length: 5000 }, (_, i) => `r${i}`),
  )
})

test('lines leave by themselves soon after they were written', async () => {
  const { events, file, log } = open()
  events.emit('call:ended', ended())
  const due = performance.now() + 5000
  while ((await stat(file)).size === 0 && performance.now() < due)
    await new Promise((resolve) => setTimeout(resolve, 10))
  assert.ok((await stat(file)).size > 0)
  await log.close()
})

test('a log file is readable by its owner only', async () => {
  const { file, log } = open()
  assert.equal((await stat(file)).mode & 0o777, 0o600)
  await log.close()
})

const CHILD = `
import { createEvents } from '${new URL('../../src/event/event.ts', import.meta.url)}'
import { createLog } from '${new URL('../../src/telemetry/log.ts', import.meta.url)}'
import { createSystemWorld } from '${new URL('../../src/util/clock.ts', import.meta.url)}'
const failed = []
const log = createLog({ world: createSystemWorld(), destination: process.argv[1], onFailed: (error) => failed.push(error.code) })
const events = createEvents()
log.watch(events)
`

function child(destination: string, script: string) {
  const run = spawn(process.execPath, ['--input-type=module-typescript', '-e', CHILD + script, destination], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const out: Record<'stdout' | 'stderr', string> = { stdout: '', stderr: '' }
  run.stdout.on('data', (chunk) => {
    out.stdout += chunk
  })
  run.stderr.on('data', (chunk) => {
    out.stderr += chunk
  })
  const exit = new Promise<number | null>((resolve) => run.once('close', resolve))
  return { run, out, exit }
}

test('the option chooses stdout or stderr', async () => {
  for (const where of ['stdout', 'stderr'] as const) {
    const { out, exit } = child(where, `log.logger.info('here'); await log.close()`)
    assert.equal(await exit, 0)
    assert.match(out[where], /"msg":"here"/)
    assert.equal(out[where === 'stdout' ? 'stderr' : 'stdout'], '')
  }
})

test('lines written just before an abrupt exit are not lost', async () => {
  const { out, exit } = child(
    'stdout',
    `for (let i = 0; i < 1000; i++) log.logger.info({ i }, 'x'); process.exit(3)`,
  )
  assert.equal(await exit, 3)
  assert.equal(out.stdout.trim().split('\n').length, 1000)
  assert.match(out.stdout, /"i":999/)
})

test('a closed pipe ends the log, not the process', async () => {
  const { run, out, exit } = child(
    'stdout',
    `const timer = setInterval(() => { log.logger.info('x'.repeat(70000)); if (failed.length > 0) { clearInterval(timer); log.logger.info('y'); log.close().then(() => console.error(failed.join())) } }, 5)`,
  )
  run.stdout.destroy()
  assert.equal(await exit, 0)
  assert.equal(out.stderr.trim(), 'EPIPE')
})

test('a destination that hangs costs lines, not memory, and says how many', async () => {
  const { run, out, exit } = child(
    'stdout',
    `for (let i = 0; i < 400; i++) { log.logger.info('x'.repeat(64 * 1024)); if (i % 20 === 0) await new Promise((r) => setTimeout(r, 1)) }
    console.error(log.dropped > 100 && log.dropped < 400); await log.close()`,
  )
  // Nobody reads until the child has given up on most of its lines.
  run.stdout.pause()
  await new Promise((resolve) => run.stderr.once('data', resolve))
  run.stdout.resume()
  assert.equal(await exit, 0)
  assert.equal(out.stderr.trim(), 'true')
  const lines = out.stdout.trim().split('\n')
  for (const line of lines) JSON.parse(line)
  assert.match(out.stdout, /"lines":\d+,"msg":"log lines were dropped/)
})
