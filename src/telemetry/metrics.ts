// The runtime's events as metrics, read at /metrics in the Prometheus text format.
//
// Counting happens in plain numbers, one cell per series, and OpenTelemetry asks for them when it is scraped: its own
// counters hash the attributes of every measurement. Only the latency histogram is recorded through it, per call.
import type { Attributes, BatchObservableResult, Observable } from '@opentelemetry/api'
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { FAILURES, type FailureId, failureRow } from '../contract/failures.ts'
import type { CallEndedEvent, CallEvent, Events } from '../event/event.ts'

export interface MetricsOptions {
  readonly events: Events
  /** Asked at each scrape, not before. */
  readonly health: () => Promise<EntryCounts>
  /** Series of one metric; what comes past them is counted under tool `overflow`. @default 2000 */
  readonly maxSeries?: number
}

export interface EntryCounts {
  readonly unknownEntries: number
  /** How many entries are in each open state. */
  readonly openEntries?: Readonly<Record<string, number>>
}

export interface Metrics {
  /** The media type of what `render` gives. */
  readonly contentType: string
  /** Everything measured, as Prometheus text. */
  render(): Promise<string>
  /** A request that a door refused before it was a call, such as one without a valid token (S40). */
  refused(failure: FailureId): void
  /** A bearer token that was not taken, and which check failed. */
  tokenRefused(reason: string): void
  close(): Promise<void>
}

/** In seconds: from a native tool's tenth of a millisecond to the longest attempt of the four-outcome dialect. */
const LATENCY_BUCKETS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  300, 600,
]
const UNRESOLVED = { namespace: '', tool: 'unresolved', version: '' } as const

interface Cell {
  readonly attributes: Attributes
  /** The attributes of the histogram: fewer, since each costs time on every call. */
  readonly latency: Attributes
  value: number
}

export function createMetrics(options: MetricsOptions): Metrics {
  const exporter = new PrometheusExporter({ preventServerStart: true })
  const serializer = new PrometheusSerializer('', false, undefined, true, true)
  const provider = new MeterProvider({ readers: [exporter] })
  const meter = provider.getMeter('writ')
  const maxSeries = options.maxSeries ?? 2000

  const latency = meter.createHistogram('writ_call_duration_seconds', {
    description: 'Time from the arrival of a call to its answer.',
    advice: { explicitBucketBoundaries: LATENCY_BUCKETS },
  })
  const calls = createSeries(maxSeries)
  const inFlight = createSeries(maxSeries)
  const attempts = createSeries(maxSeries)
  const becameUnknown = createSeries(maxSeries)
  const recovered = createSeries(maxSeries)
  const refused = createSeries(maxSeries)
  const tokensRefused = createSeries(maxSeries)
  const settled = createSeries(maxSeries)
  const falseUnknown = createSeries(maxSeries)
  const timersFailed = createSeries(maxSeries)
  const livesEnded = createSeries(maxSeries)
  const notifyFailed = createSeries(maxSeries)
  const approvals = createSeries(maxSeries)
  const storeAway = createSeries(maxSeries)
  /** Names of tools that were there when somebody called them. */
  const resolved = new Set<string>()
  /** Where each call under way is counted: by its end, more is known of it. */
  const underWay = new Map<string, Cell>()

  const series: readonly (readonly [Observable, Series])[] = [
    [counter('writ_calls_total', 'Calls that ended, or were left in an open state.'), calls],
    [gauge('writ_calls_in_flight', 'Calls under way.'), inFlight],
    [counter('writ_attempts_failed_total', 'Sends that did not succeed.'), attempts],
    [counter('writ_entries_became_unknown_total', 'Effects that may have happened.'), becameUnknown],
    [
      counter('writ_recovery_entries_total', 'What a start found of earlier lives of the process.'),
      recovered,
    ],
    [counter('writ_requests_refused_total', 'Requests refused before they were a call.'), refused],
    [
      counter('writ_tokens_refused_total', 'Bearer tokens that were not taken, by what was wrong.'),
      tokensRefused,
    ],
    [counter('writ_entries_settled_total', 'Unknown effects that are known now.'), settled],
    [
      counter('writ_entries_false_unknown_total', 'Unknown effects that turned out not to have happened.'),
      falseUnknown,
    ],
    [counter('writ_timers_failed_total', 'What was due and could not be done at once.'), timersFailed],
    [
      counter('writ_notifications_failed_total', 'Tries to tell somebody of an approval that failed.'),
      notifyFailed,
    ],
    [counter('writ_approvals_total', 'Calls that waited for people, by what came of it.'), approvals],
    [counter('writ_lives_ended_total', 'Other processes whose work was taken over.'), livesEnded],
    [gauge('writ_store_away', '1 while the database cannot be reached.'), storeAway],
  ]
  const unknownEntries = gauge(
    'writ_entries_unknown',
    'Entries whose effect is not known; each waits to be settled.',
  )
  const openEntries = gauge('writ_entries_open', 'Entries that something is left to do about.')
  // There from the start: what has not happened yet is 0, and no missing series.
  livesEnded.at('', () => ({}))
  const away = storeAway.at('', () => ({}))

  /** A state without entries may be missing from the count: one that was shown before is 0 then, and not gone. */
  const states = new Set<string>()
  function seenStates({ openEntries: counted = {} }: EntryCounts): Iterable<string> {
    for (const state of Object.keys(counted)) states.add(state)
    return states
  }

  function counter(name: string, description: string): Observable {
    return meter.createObservableCounter(name, { description })
  }
  function gauge(name: string, description: string): Observable {
    return meter.createObservableGauge(name, { description })
  }

  meter.addBatchObservableCallback(
    (result: BatchObservableResult) => {
      for (const [instrument, { cells }] of series) {
        for (const cell of cells.values()) result.observe(instrument, cell.value, cell.attributes)
      }
    },
    series.map(([instrument]) => instrument),
  )
  // Alone in its callback: when the store cannot be asked, the other metrics are still there.
  meter.addBatchObservableCallback(
    async (result: BatchObservableResult) => {
      const counts = await options.health()
      result.observe(unknownEntries, counts.unknownEntries)
      for (const state of seenStates(counts)) {
        result.observe(openEntries, counts.openEntries?.[state] ?? 0, { state })
      }
    },
    [unknownEntries, openEntries],
  )

  const stops = [
    options.events.on('call:started', (event) => {
      if (underWay.size >= MAX_UNDER_WAY) return
      // A start comes before the tool is resolved: a name is believed once a call of it has been.
      const name = `${event.namespace}\n${event.tool_id}`
      const cell = resolved.has(name)
        ? inFlight.at(name, () => ({ namespace: event.namespace, tool: event.tool_id }))
        : inFlight.at('unresolved', () => ({ namespace: '', tool: 'unresolved' }))
      cell.value += 1
      underWay.set(event.call_id, cell)
    }),
    options.events.on('call:ended', (event) => {
      const started = underWay.get(event.call_id)
      if (started !== undefined) {
        started.value -= 1
        underWay.delete(event.call_id)
      }
      if (isResolved(event) && resolved.size < maxSeries) resolved.add(`${event.namespace}\n${event.tool_id}`)
      const cell = calls.at(
        `${toolKey(event)}\n${event.tool_status}\n${event.state}\n${event.failure}`,
        () => ({
          ...toolOf(event),
          status: event.tool_status,
          state: event.state,
          ...errorOf(event.failure),
        }),
      )
      cell.value += 1
      latency.record(event.duration_ms / 1000, cell.latency)
    }),
    options.events.on('attempt:failed', (event) => {
      const key = `${event.tool_id}\n${event.failure}\n${event.sent}`
      attempts.at(key, () => ({
        tool: event.tool_id,
        sent: event.sent,
        ...errorOf(event.failure),
      })).value += 1
    }),
    options.events.on('entry:unknown', (event) => {
      const key = `${event.tool_id}\n${event.failure}`
      becameUnknown.at(key, () => ({ tool: event.tool_id, ...errorOf(event.failure) })).value += 1
    }),
    options.events.on('entry:settled', (event) => {
      const { tool_id: tool, by, state } = event
      settled.at(`${tool}\n${by}\n${state}`, () => ({ tool, by, state })).value += 1
      // Such as one whose process died between the intent and the send (S36); a commit that was not is prepared again.
      if (state === 'not-done' || state === 'prepared') falseUnknown.at(tool, () => ({ tool })).value += 1
    }),
    options.events.on('timer:failed', ({ kind }) => {
      timersFailed.at(kind, () => ({ kind })).value += 1
    }),
    options.events.on('notify:failed', ({ channel, retry_in_ms: retryMs }) => {
      const given_up = retryMs === null
      notifyFailed.at(`${channel}\n${given_up}`, () => ({ channel, given_up })).value += 1
    }),
    options.events.on('approval:requested', ({ tool_id: tool }) => {
      approvals.at(`${tool}\nrequested`, () => ({ tool, state: 'requested' })).value += 1
    }),
    options.events.on('approval:decided', ({ tool_id: tool, state }) => {
      approvals.at(`${tool}\n${state}`, () => ({ tool, state })).value += 1
    }),
    options.events.on('life:ended', () => {
      livesEnded.at('', () => ({})).value += 1
    }),
    options.events.on('store:away', () => {
      away.value = 1
    }),
    options.events.on('store:back', () => {
      away.value = 0
    }),
    options.events.on('recovery:ended', (event) => {
      recovered.at('unknown', () => ({ result: 'unknown' })).value += event.unknown
      recovered.at('closed', () => ({ result: 'closed' })).value += event.closed
    }),
  ]

  return {
    contentType: 'text/plain; version=0.0.4; charset=utf-8',
    async render() {
      const { resourceMetrics, errors } = await exporter.collect()
      const text = serializer.serialize(resourceMetrics)
      const notes = errors.map((error) => `# not measured: ${messageOf(error).replaceAll(/\s+/g, ' ')}\n`)
      return `${text}${text.endsWith('\n') ? '' : '\n'}${notes.join('')}`
    },
    refused(failure) {
      refused.at(failure, () => ({ failure })).value += 1
    },
    tokenRefused(reason) {
      tokensRefused.at(reason, () => ({ reason })).value += 1
    },
    async close() {
      for (const stop of stops) stop()
      await provider.shutdown()
    },
  }
}

/** A start whose end never comes must not fill the memory. */
const MAX_UNDER_WAY = 1_000_000

interface Series {
  readonly cells: ReadonlyMap<string, Cell>
  /** The cell of a key; attributes are built once per series, never per call. */
  at(key: string, attributes: () => Attributes): Cell
}

function createSeries(maxSeries: number): Series {
  const cells = new Map<string, Cell>()
  const make = (key: string, attributes: Attributes): Cell => {
    const { namespace = '', tool = '', version = '', status = '' } = attributes
    const cell = { attributes, latency: { namespace, tool, version, status }, value: 0 }
    cells.set(key, cell)
    return cell
  }
  return {
    cells,
    at(key, attributes) {
      const cell = cells.get(key)
      if (cell !== undefined) return cell
      if (cells.size < maxSeries) return make(key, attributes())
      return cells.get('') ?? make('', { ...attributes(), namespace: '', tool: 'overflow', version: '' })
    },
  }
}

/** A caller can name any tool: only what was resolved becomes a label, or a loop of made-up names would fill the memory. */
function isResolved(event: CallEvent): boolean {
  return event.tool_version !== ''
}

function toolKey(event: CallEvent): string {
  return isResolved(event) ? `${event.namespace}\n${event.tool_id}\n${event.tool_version}` : 'unresolved'
}

function toolOf(event: CallEvent): Attributes {
  if (!isResolved(event)) return UNRESOLVED
  return { namespace: event.namespace, tool: event.tool_id, version: event.tool_version }
}

/** The class of the four-outcome code, such as `R-TIMEOUT`, and the dotted code; empty where nothing failed. */
function errorOf(failure: CallEndedEvent['failure']): { error_class: string; error_code: string } {
  if (!Object.hasOwn(FAILURES, failure)) return { error_class: '', error_code: '' }
  const row = failureRow(failure as FailureId)
  return { error_class: row.four.code.replace(/-\d+$/, ''), error_code: row.dotted }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
