// Every transport with every failure row that can happen over it, by tools that echo their credential wherever they can:
// it is in nothing that the runtime says or keeps. The rows are those of the matrix, so that none can be left out.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { DIALECT_NAMES } from '../../src/contract/call.ts'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createDialects } from '../../src/contract/dialect/registry.ts'
import { createEvents, type Events } from '../../src/event/event.ts'
import type { Runtime } from '../../src/runtime-api.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { type Arrival, openHttpRows, type Report } from '../matrix/row-http.ts'
import {
  endRows,
  OPEN,
  openRows,
  type Place,
  placesOf,
  type Ran,
  type RowPlace,
  runRows,
} from '../matrix/row-run.ts'
import type { RowKit, RowSubject } from '../matrix/row-subject.ts'
import { CASES, SUBJECTS } from '../matrix/row-table.ts'
import { until } from '../pipeline/until.ts'
import { createEchoVoice, type EchoVoice } from './echo-voice.ts'
import { secretForms } from './secret-forms.ts'

/** Ways in which no tool is asked, so that nobody can be shown anything. In every other one the tool has to be. */
const UNREACHED: ReadonlySet<string> = new Set([
  'no connection',
  'handshake without end',
  'address out of reach',
  'secret is not there',
  'secret of another namespace',
  'token is refused',
  'isolation container',
  'neither type nor endpoint',
  'input does not fit a query',
  'input is no object',
  'tool is no longer offered',
  'command is not listed',
  'program is not there',
  'argument begins with a dash',
  'arguments are too large',
])

/** Longer than a busy machine takes for anything. */
const WITHIN_MS = 40_000

/** What was said or kept, by where that was. */
type Places = Map<string, string | Buffer>

function listen(events: Events): { readonly events: Events; readonly told: string[] } {
  const told: string[] = []
  return {
    told,
    events: {
      ...events,
      heard: () => true,
      emit(name, event) {
        told.push(`${name} ${JSON.stringify(event)}`)
        events.emit(name, event)
      },
    },
  }
}

function filesOf(folder: string): [string, Buffer][] {
  return readdirSync(folder).map((name) => [`the file ${name}`, readFileSync(join(folder, name))])
}

const dialects = createDialects()

function shownOf({ place, answer, facts }: Ran): [string, string][] {
  const where = `${place.way}, ${place.kind}`
  const encoded = DIALECT_NAMES.map((name) => dialects.get(name).encode(answer))
  return [
    [`the answer to ${where}`, JSON.stringify([answer, ...encoded])],
    [`the facts about ${where}`, JSON.stringify(facts)],
  ]
}

/** All that operators and callers are shown afterwards. */
async function look(runtime: Runtime, ran: readonly Ran[], places: Places): Promise<void> {
  const admin = runtime.as(createLocalAdmin())
  for (const { id, place } of ran) {
    const call = await until(() => admin.getCall(id), WITHIN_MS)
    places.set(`the call ${place.way}, ${place.kind}`, JSON.stringify(call))
  }
  places.set('the list of calls', JSON.stringify(await admin.listCalls({ limit: 200 })))
  places.set('the open entries', JSON.stringify(await admin.listOpen({ limit: 200 })))
  const rows = await runtime.resources.list({})
  places.set('the resources', JSON.stringify(rows))
  places.set('the tools', JSON.stringify(runtime.tools('default')))
  for (const { kind, name } of rows) {
    if (kind === 'McpServer') places.set(name, JSON.stringify(runtime.mcp.status('default', name) ?? null))
    if (kind === 'Tool') places.set(name, JSON.stringify(runtime.mcp.definition('default', name) ?? null))
  }
  const lines: string[] = []
  for await (const line of runtime.audit.export()) lines.push(line)
  places.set('the export of evidence', lines.join(''))
}

function found(places: Places, secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) =>
    Object.entries(secretForms(secret)).flatMap(([form, text]) =>
      [...places].filter(([, said]) => said.includes(text)).map(([place]) => `${secret} ${form} in ${place}`),
    ),
  )
}

/** Every place in which the tool can be asked was one in which it was shown its credential. */
function assertShown(voice: EchoVoice, places: readonly Place[], rows: RowSubject): void {
  const shown = voice.shown()
  const not = places
    .filter(({ way, kind }) => shown.has(rows.toolOf(way, kind)) === UNREACHED.has(way))
    .map(({ way, kind }) => `${way}, ${kind}`)
  assert.deepEqual(not, [], 'shown to exactly those that are asked')
}

/** Nothing fails: the credential is in the output. */
const WELL: readonly Place[] = [
  { way: 'well', kind: 'read' },
  { way: 'well', kind: 'write' },
]

async function run(
  t: TestContext,
  failing: readonly RowPlace[],
  voice: EchoVoice,
  open: (kit: RowKit) => Promise<RowSubject>,
  atOpen: (runtime: Runtime) => void = () => {},
): Promise<void> {
  const places: readonly (Place & Partial<RowPlace>)[] = [...failing, ...WELL]
  const folder = mkdtempSync(join(tmpdir(), 'writ-row-secrets-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  t.after(() => voice.close())
  const { events, told } = listen(createEvents())
  const log = createLog({
    world: createSystemWorld(),
    destination: { file: join(folder, 'log') },
    level: 'trace',
  })
  log.watch(events)
  const store = { kind: 'sqlite', path: join(folder, 'writ.db') } as const
  const atWork = (tool: string) => until(() => voice.shown().has(tool), WITHIN_MS)
  const opened = await openRows(t, { places, voice, open, options: { store, events }, atWork })
  const { runtime } = opened
  const metrics = createMetrics({ events, health: () => runtime.health() })
  t.after(() => metrics.close())
  atOpen(runtime)

  const said: Places = new Map()
  const ran = await runRows(opened, places)
  await look(runtime, ran, said)
  said.set('the metrics', await metrics.render())
  const ended = await endRows(opened, places)
  await log.close()
  for (const [where, text] of [...ran, ...ended].flatMap(shownOf)) said.set(where, text)
  said.set('the events', told.join('\n'))
  for (const [where, bytes] of filesOf(folder)) said.set(where, bytes)

  const rows = [...ran, ...ended].map(({ place, answer }) => [place, answer] as const)
  assert.equal(rows.length, places.length)
  for (const [{ way, kind, cell }, { state, failure }] of rows)
    assert.equal(failure?.id ?? state, cell?.[0] ?? 'succeeded', `${way}, ${kind}`)
  assertShown(voice, places, opened.rows)
  assert.deepEqual(found(said, voice.secrets()), [])
  const redacted = [...said].filter(([, text]) => text.includes('[redacted]')).map(([where]) => where)
  for (const where of ['the list of calls', 'the file writ.db'])
    assert.ok(redacted.includes(where), `something was taken out of ${where}`)
  assert.ok(said.get('the file log')?.includes('"level":"debug"'), 'the log is as wordy as it gets')
}

test('every way in which no tool is asked is one of the matrix', () => {
  const ways = new Set(SUBJECTS.flatMap((subject) => Object.keys(CASES[subject])))
  assert.deepEqual(
    [...UNREACHED].filter((way) => !ways.has(way)),
    [],
  )
})

for (const subject of SUBJECTS) {
  test(`no row over ${subject} says or keeps the credential that its tool echoes`, (t) =>
    run(t, placesOf(subject), createEchoVoice(), OPEN[subject]))
}

/** What tools of long work say at its end. */
const isTold = ({ way }: Place) => way.startsWith('says that') || way === 'output breaks its schema'
const TOLD = placesOf('webhook-callback').filter(isTold)

test('nor does one that a tool of long work tells when it is asked', (t) =>
  run(t, TOLD, createEchoVoice(), (kit) => openHttpRows('webhook-callback', kit, 'asked')))

test('nor does one that it reports by itself, signed or not', async (t) => {
  const said: string[] = []
  let runtime: Runtime | undefined
  const report: Report = async (callback, body) => {
    const { url, token } = callback as { url: string; token: string }
    const timestamp = String(Math.floor(Date.now() / 1_000))
    const sign = (key: string) =>
      `v1=${createHmac('sha256', key).update(`${timestamp}.${body}`).digest('hex')}`
    const about = { namespace: 'default', callId: new URL(url).pathname.split('/').at(-1) ?? '' }
    const bring = (key: string) =>
      runtime?.report({ ...about, timestamp, signature: sign(key), body: Buffer.from(body) })
    const forged = await bring('another-key')
    said.push(JSON.stringify(forged))
    assert.equal(forged?.kind === 'refused' && forged.failure.id, 'callback-invalid')
    // It may come before the acceptance is on disk, and is brought again, as tools do.
    await until(async () => {
      const result = await bring(token)
      said.push(JSON.stringify(result))
      return result?.kind === 'taken'
    }, WITHIN_MS)
  }
  const voice = createEchoVoice()
  const arrival: Arrival = 'reported'
  await run(
    t,
    TOLD,
    voice,
    (kit) => openHttpRows('webhook-callback', kit, arrival, report),
    (one) => {
      runtime = one
    },
  )
  assert.equal(said.filter((one) => one.includes('taken')).length, TOLD.length + WELL.length)
  assert.deepEqual(found(new Map([['what is answered to reports', said.join('\n')]]), voice.secrets()), [])
})
