// Every transport with every way in which a call over it can fail, against real peers: the row, what callers read of it,
// and what it means for the effect of a read and of a write that declares nothing.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type { Answer } from '../../src/contract/answer.ts'
import { createDialects } from '../../src/contract/dialect/registry.ts'
import { FAILURE_IDS, type FailureId } from '../../src/contract/failures.ts'
import { createRuntime } from '../../src/runtime.ts'
import type { CallerDoor, CallHandle, Runtime } from '../../src/runtime-api.ts'
import { builtTypes } from '../../src/transport/registry.ts'
import type { JsonObject } from '../../src/util/json.ts'
import type { Peer } from '../transport/tool-peer.ts'
import { ELSEWHERE, NOT_HERE } from './row-absent.ts'
import { openCliRows } from './row-cli.ts'
import { openGrpcRows } from './row-grpc.ts'
import { openHttpRows } from './row-http.ts'
import { openMcpRows } from './row-mcp.ts'
import { apply, applySecrets, BRIEF, createRowWorld, listenTokens, type RowSubject } from './row-subject.ts'
import { CASES, type Cell, type Kind, SUBJECTS, type Subject, V1 } from './row-table.ts'

const OPEN: Readonly<Record<Subject, (tokens: Peer) => Promise<RowSubject>>> = {
  http: (tokens) => openHttpRows('http', tokens),
  external: (tokens) => openHttpRows('external', tokens),
  'webhook-callback': (tokens) => openHttpRows('webhook-callback', tokens),
  grpc: openGrpcRows,
  'mcp over HTTP': (tokens) => openMcpRows('http', tokens),
  'mcp over standard streams': (tokens) => openMcpRows('stdio', tokens),
  cli: openCliRows,
}

interface Place {
  readonly way: string
  readonly kind: Kind
  readonly cell: Cell
}

function placesOf(subject: Subject): readonly Place[] {
  return Object.entries(CASES[subject]).flatMap(([way, cells]) =>
    (['read', 'write'] as const).flatMap((kind) => {
      const cell = cells[kind]
      return cell === undefined ? [] : [{ way, kind, cell }]
    }),
  )
}

const rowsOf = (subject: Subject): ReadonlySet<FailureId> =>
  new Set(placesOf(subject).map(({ cell: [row] }) => row))

test('every row either happens over a transport, or it is said why it cannot', () => {
  const elsewhere: readonly FailureId[] = Object.values(ELSEWHERE).flat()
  for (const subject of SUBJECTS) {
    const here = [...rowsOf(subject)]
    const not = Object.keys(NOT_HERE[subject]) as FailureId[]
    assert.deepEqual([...here, ...not, ...elsewhere].sort(), [...FAILURE_IDS].sort(), subject)
  }
})

test('every transport of this build is in the matrix; native handlers are functions, with tests of their own', () => {
  const types = new Set(SUBJECTS.map((subject) => subject.split(' ')[0]))
  assert.deepEqual([...types, 'native'].sort(), [...builtTypes].sort())
})

test('each row that can happen is read by callers in one way', () => {
  const happen = new Set(SUBJECTS.flatMap((subject) => [...rowsOf(subject)]))
  assert.deepEqual(Object.keys(V1).sort(), [...happen].sort())
})

interface Opened {
  readonly runtime: Runtime
  readonly door: CallerDoor
  readonly rows: RowSubject
}

async function open(t: TestContext, subject: Subject, places: readonly Place[]): Promise<Opened> {
  const tokens = await listenTokens()
  t.after(() => tokens.close())
  const rows = await OPEN[subject](tokens)
  t.after(() => rows.close())
  const world = createRowWorld()
  t.after(() => world.network.destroy())
  const runtime = await createRuntime({ ...rows.options, world, onWarning: () => {} })
  t.after(() => runtime.close({ drainMs: 0 }))
  await applySecrets(runtime)
  const documents = places.flatMap(({ way, kind }) => rows.documents(way, kind))
  if (documents.length > 0) await apply(runtime, documents)
  await rows.spoil?.(runtime)
  // One by one: no wildcard covers a tool whose effect nobody has declared.
  const permissions = places.map(({ way, kind }) => `tool:${rows.toolOf(way, kind)}:invoke`)
  return { runtime, door: runtime.as({ actor: 'agent-a', permissions }), rows }
}

function begin({ runtime, door, rows }: Opened, { way, kind }: Place): CallHandle {
  const requestId = randomUUID()
  const tool = rows.toolOf(way, kind)
  const input = rows.inputOf?.(way, requestId) ?? {}
  const constraints = rows.constraintsOf?.(way)
  if (constraints === undefined) return door.start({ tool, input, requestId })
  const body = { request_id: requestId, tool: { name: tool }, input }
  const decoded = runtime.dialects.decode(body, () => runtime.mint())
  assert.ok(decoded.ok, JSON.stringify(decoded))
  return door.start({ ...decoded.call, constraints })
}

/** Or has ended before that, as it should not. */
function sent(handle: CallHandle): Promise<unknown> {
  const leaves = new Promise<void>((resolve) => {
    handle.onFact(({ kind }) => kind === 'attempt' && resolve())
  })
  return Promise.race([leaves, handle.answer()])
}

async function ask(opened: Opened, place: Place): Promise<Answer> {
  const handle = begin(opened, place)
  if (place.way !== 'canceled') return handle.answer()
  await sent(handle)
  handle.cancel()
  return handle.answer()
}

/** What is under way when the runtime ends. */
async function askAtTheEnd(opened: Opened, places: readonly Place[]): Promise<readonly Answer[]> {
  const handles = places.map((place) => begin(opened, place))
  const answers = handles.map((handle) => handle.answer())
  await Promise.all(handles.map(sent))
  await opened.runtime.close({ drainMs: 0 })
  return Promise.all(answers)
}

const dialects = createDialects()

function readOf(answer: Answer): { readonly cell: Cell | undefined; readonly v1: readonly unknown[] } {
  const { failure, state, effect } = answer
  const wire = dialects.get('v1').encode(answer)
  const error = (wire.error ?? {}) as JsonObject
  return {
    cell: failure && [failure.id, state, effect, failure.retryable],
    v1: [wire.status, error.code, error.reason, error.retryable],
  }
}

for (const subject of SUBJECTS) {
  test(`S22, S23, S24: what can fail over ${subject}`, async (t) => {
    const places = placesOf(subject)
    const opened = await open(t, subject, places)
    const last = places.filter(({ way }) => way === 'the runtime ends')
    const brief = places.filter(({ way }) => BRIEF.has(way))
    const first = places.filter((place) => !last.includes(place) && !brief.includes(place))
    const askAll = (some: readonly Place[]) => Promise.all(some.map((place) => ask(opened, place)))
    const all = [...(await askAll(first)), ...(await askAll(brief)), ...(await askAtTheEnd(opened, last))]
    for (const [index, { way, kind, cell }] of [...first, ...brief, ...last].entries()) {
      const answer = all[index]
      await t.test(`${way}: ${kind} is ${cell[0]}`, () => {
        assert.ok(answer !== undefined && answer.failure !== undefined, JSON.stringify(answer))
        const read = readOf(answer)
        assert.deepEqual(read.cell, cell, answer.failure.message)
        assert.deepEqual(read.v1, [...(V1[cell[0]] ?? []), cell[3]])
      })
    }
  })
}
