// Metrics: what is counted under which labels, and that no caller can make them grow without bound.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEvents } from '../../src/event/event.ts'
import { createMetrics, type MetricsOptions } from '../../src/telemetry/metrics.ts'
import { ended, started } from './events.ts'

function open(options: Partial<MetricsOptions> = {}) {
  const events = createEvents()
  const metrics = createMetrics({ events, health: async () => ({ unknownEntries: 0 }), ...options })
  return { events, metrics }
}

/** The value of one series; labels may be in any order and must be exactly these. */
function value(text: string, name: string, labels: Record<string, string> = {}): number | undefined {
  for (const line of text.split('\n')) {
    const match = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line)
    if (match?.[1] !== name) continue
    const found = Object.fromEntries(
      [...(match[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key, text]),
    )
    if (JSON.stringify(Object.entries(found).sort()) === JSON.stringify(Object.entries(labels).sort()))
      return Number(match[3])
  }
  return undefined
}

const TOOL = { namespace: 'default', tool: 'web.search', version: '1.4.2' }
const OK = { ...TOOL, status: 'ok', state: 'succeeded', error_class: '', error_code: '' }

test('calls are counted by tool, version, status and error class', async () => {
  const { events, metrics } = open()
  events.emit('call:ended', ended())
  events.emit('call:ended', ended())
  events.emit('call:ended', ended({ failure: 'timeout', tool_status: 'error', state: 'timed-out' }))
  const text = await metrics.render()
  assert.equal(value(text, 'writ_calls_total', OK), 2)
  const timedOut = {
    ...TOOL,
    status: 'error',
    state: 'timed-out',
    error_class: 'R-TIMEOUT',
    error_code: 'timeout.before-submit',
  }
  assert.equal(value(text, 'writ_calls_total', timedOut), 1)
  await metrics.close()
})

test('latency is a histogram in seconds', async () => {
  const { events, metrics } = open()
  events.emit('call:ended', ended({ duration_ms: 0.4 }))
  events.emit('call:ended', ended({ duration_ms: 20 }))
  const text = await metrics.render()
  const labels = { ...TOOL, status: 'ok' }
  assert.equal(value(text, 'writ_call_duration_seconds_count', labels), 2)
  assert.equal(value(text, 'writ_call_duration_seconds_sum', labels), 0.0204)
  assert.equal(value(text, 'writ_call_duration_seconds_bucket', { ...labels, le: '0.0005' }), 1)
  assert.equal(value(text, 'writ_call_duration_seconds_bucket', { ...labels, le: '0.025' }), 2)
  assert.equal(value(text, 'writ_call_duration_seconds_bucket', { ...labels, le: '+Inf' }), 2)
  await metrics.close()
})

test('calls in flight go up at the start and down at the end', async () => {
  const { events, metrics } = open()
  const tool = { namespace: 'default', tool: 'web.search' }
  events.emit('call:ended', ended({ call_id: 'never started' }))
  events.emit('call:started', started({ call_id: 'a' }))
  events.emit('call:started', started({ call_id: 'b' }))
  assert.equal(value(await metrics.render(), 'writ_calls_in_flight', tool), 2)
  events.emit('call:ended', ended({ call_id: 'a' }))
  assert.equal(value(await metrics.render(), 'writ_calls_in_flight', tool), 1)
  events.emit('call:ended', ended({ call_id: 'b' }))
  assert.equal(value(await metrics.render(), 'writ_calls_in_flight', tool), 0)
  await metrics.close()
})

test('a tool that no call has resolved yet is in flight without its name', async () => {
  const { events, metrics } = open()
  const unresolved = { namespace: '', tool: 'unresolved' }
  events.emit('call:started', started({ tool_version: '' }))
  assert.equal(value(await metrics.render(), 'writ_calls_in_flight', unresolved), 1)
  events.emit('call:ended', ended())
  const text = await metrics.render()
  assert.equal(value(text, 'writ_calls_in_flight', unresolved), 0)
  assert.equal(value(text, 'writ_calls_in_flight', { namespace: 'default', tool: 'web.search' }), undefined)
  assert.equal(value(text, 'writ_calls_total', OK), 1)
  await metrics.close()
})

test('names of tools that do not exist are never labels', async () => {
  const { events, metrics } = open()
  for (let i = 0; i < 5000; i++) {
    const fake = { tool_id: `no-such-${i}`, namespace: `n${i}`, call_id: `c${i}`, tool_version: '' }
    events.emit('call:started', started(fake))
    events.emit(
      'call:ended',
      ended({ ...fake, failure: 'tool-unknown', tool_status: 'error', state: 'failed' }),
    )
  }
  const text = await metrics.render()
  assert.equal(text.includes('no-such-'), false)
  const labels = { namespace: '', tool: 'unresolved', version: '', status: 'error', state: 'failed' }
  const error = { error_class: 'P-PRECOND', error_code: 'dependency.unavailable' }
  assert.equal(value(text, 'writ_calls_total', { ...labels, ...error }), 5000)
  await metrics.close()
})

test('past the limit of series calls are still counted, as overflow', async () => {
  const { events, metrics } = open({ maxSeries: 10 })
  for (let i = 0; i < 50; i++) events.emit('call:ended', ended({ tool_version: `1.0.${i}` }))
  const text = await metrics.render()
  const lines = text.split('\n').filter((line) => line.startsWith('writ_calls_total{'))
  assert.equal(lines.length, 11)
  assert.equal(
    lines.map((line) => Number(line.split(' ').at(-1))).reduce((a, b) => a + b),
    50,
  )
  assert.equal(value(text, 'writ_calls_total', { ...OK, namespace: '', tool: 'overflow', version: '' }), 40)
  await metrics.close()
})

test('unknown entries are asked for at each scrape', async () => {
  let unknownEntries = 0
  const { metrics } = open({ health: async () => ({ unknownEntries }) })
  assert.equal(value(await metrics.render(), 'writ_entries_unknown'), 0)
  unknownEntries = 3
  assert.equal(value(await metrics.render(), 'writ_entries_unknown'), 3)
  await metrics.close()
})

test('a store that cannot be asked takes away its own metric only, and says so', async () => {
  const { events, metrics } = open({ health: () => Promise.reject(new Error('disk\ngone')) })
  events.emit('call:ended', ended())
  const text = await metrics.render()
  assert.equal(value(text, 'writ_calls_total', OK), 1)
  assert.equal(value(text, 'writ_entries_unknown'), undefined)
  assert.match(text, /^# not measured: disk gone$/m)
  await metrics.close()
})

test('recovery, failed attempts, unknown effects and refused requests are counted', async () => {
  const { events, metrics } = open()
  events.emit('recovery:ended', { unknown: 2, closed: 5 })
  events.emit('attempt:failed', {
    call_id: 'c',
    tool_id: 't',
    attempt: 1,
    failure: 'connect-failed',
    sent: false,
    retry_in_ms: 5,
  })
  events.emit('entry:unknown', { entry_id: 'e', call_id: 'c', tool_id: 't', failure: 'interrupted' })
  metrics.refused('unauthenticated')
  metrics.refused('unauthenticated')
  const text = await metrics.render()
  assert.equal(value(text, 'writ_recovery_entries_total', { result: 'unknown' }), 2)
  assert.equal(value(text, 'writ_recovery_entries_total', { result: 'closed' }), 5)
  const error = { error_class: 'R-UPSTREAM', error_code: 'dependency.unavailable' }
  assert.equal(value(text, 'writ_attempts_failed_total', { tool: 't', sent: 'false', ...error }), 1)
  const interrupted = { tool: 't', error_class: 'D-DATA', error_code: 'timeout.unknown-commit' }
  assert.equal(value(text, 'writ_entries_became_unknown_total', interrupted), 1)
  assert.equal(value(text, 'writ_requests_refused_total', { failure: 'unauthenticated' }), 2)
  await metrics.close()
})

test('every line is of the Prometheus text format, also with hostile names', async () => {
  const { events, metrics } = open()
  events.emit('call:ended', ended({ tool_id: 'a"b\\c\nd' }))
  const text = await metrics.render()
  assert.match(metrics.contentType, /^text\/plain; version=0\.0\.4/)
  assert.ok(text.endsWith('\n'))
  for (const line of text.split('\n').filter(Boolean)) {
    assert.match(
      line,
      /^(?:# (?:HELP|TYPE) [a-z_]+ .*|[a-z_]+(?:\{(?:\w+="(?:[^"\\\n]|\\["\\n])*",?)+\})? [0-9.eE+-]+)$/,
    )
  }
  await metrics.close()
})

test('after close no event is heard', async () => {
  const { events, metrics } = open()
  assert.ok(events.heard('call:ended'))
  await metrics.close()
  assert.equal(events.heard('call:ended'), false)
  assert.equal(events.heard('call:started'), false)
})

test('open entries are counted by state, and a state without any becomes 0 and not gone', async () => {
  let openEntries: Record<string, number> = { unknown: 2, prepared: 1 }
  const { metrics } = open({ health: async () => ({ unknownEntries: 2, openEntries }) })
  const first = await metrics.render()
  assert.equal(value(first, 'writ_entries_open', { state: 'unknown' }), 2)
  assert.equal(value(first, 'writ_entries_open', { state: 'prepared' }), 1)
  openEntries = { unknown: 3 }
  const second = await metrics.render()
  assert.equal(value(second, 'writ_entries_open', { state: 'unknown' }), 3)
  assert.equal(value(second, 'writ_entries_open', { state: 'prepared' }), 0)
  await metrics.close()
})

test('S36: settled entries are counted by who settled them, and false unknowns apart', async () => {
  const { events, metrics } = open()
  const entry = { entry_id: 'e', call_id: 'c', tool_id: 'pay' }
  events.emit('entry:settled', { ...entry, state: 'done', by: 'status-query' })
  events.emit('entry:settled', { ...entry, state: 'done', by: 'person' })
  events.emit('entry:settled', { ...entry, state: 'not-done', by: 'person' })
  const text = await metrics.render()
  const labels = { tool: 'pay', by: 'person' }
  assert.equal(value(text, 'writ_entries_settled_total', { ...labels, state: 'done' }), 1)
  assert.equal(value(text, 'writ_entries_settled_total', { ...labels, state: 'not-done' }), 1)
  assert.equal(
    value(text, 'writ_entries_settled_total', { tool: 'pay', by: 'status-query', state: 'done' }),
    1,
  )
  assert.equal(value(text, 'writ_entries_false_unknown_total', { tool: 'pay' }), 1)
  await metrics.close()
})

test('failed timers, ended lives and a database that is away are there, from the start where they have no labels', async () => {
  const { events, metrics } = open()
  const before = await metrics.render()
  assert.equal(value(before, 'writ_lives_ended_total'), 0)
  assert.equal(value(before, 'writ_store_away'), 0)
  events.emit('timer:failed', { namespace: 'default', kind: 'reconcile', subject: 'e', error: 'x' })
  const about = {
    namespace: 'default',
    approval_id: 'a',
    event: 'approval.requested',
    channel: 'ops',
    why: 'x',
  }
  events.emit('notify:failed', { ...about, retry_in_ms: 5 })
  events.emit('notify:failed', { ...about, retry_in_ms: null })
  events.emit('life:ended', { epoch: 'a' })
  events.emit('life:ended', { epoch: 'b' })
  events.emit('store:away', { message: 'gone' })
  const text = await metrics.render()
  assert.equal(value(text, 'writ_timers_failed_total', { kind: 'reconcile' }), 1)
  for (const given_up of ['true', 'false'])
    assert.equal(value(text, 'writ_notifications_failed_total', { channel: 'ops', given_up }), 1)
  assert.equal(value(text, 'writ_lives_ended_total'), 2)
  assert.equal(value(text, 'writ_store_away'), 1)
  events.emit('store:back', { away_ms: 5 })
  assert.equal(value(await metrics.render(), 'writ_store_away'), 0)
  await metrics.close()
})
