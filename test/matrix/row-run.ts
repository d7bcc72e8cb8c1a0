// Runs every way in which a call over one transport can fail, against real peers.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { Answer } from '../../src/contract/answer.ts'
import type { FailureId } from '../../src/contract/failures.ts'
import { createRuntime, type RuntimeOptions } from '../../src/runtime.ts'
import type { CallerDoor, CallFact, CallHandle, Runtime } from '../../src/runtime-api.ts'
import { openCliRows } from './row-cli.ts'
import { openGrpcRows } from './row-grpc.ts'
import { openHttpRows } from './row-http.ts'
import { openMcpRows } from './row-mcp.ts'
import {
  apply,
  applySecrets,
  BRIEF,
  createRowWorld,
  listenTokens,
  type RowKit,
  type RowSubject,
} from './row-subject.ts'
import { CASES, type Cell, type Kind, type Subject } from './row-table.ts'
import type { Voice } from './row-voice.ts'

export const OPEN: Readonly<Record<Subject, (kit: RowKit) => Promise<RowSubject>>> = {
  http: (kit) => openHttpRows('http', kit),
  external: (kit) => openHttpRows('external', kit),
  'webhook-callback': (kit) => openHttpRows('webhook-callback', kit),
  grpc: openGrpcRows,
  'mcp over HTTP': (kit) => openMcpRows('http', kit),
  'mcp over standard streams': (kit) => openMcpRows('stdio', kit),
  cli: openCliRows,
}

export interface Place {
  readonly way: string
  readonly kind: Kind
}

export interface RowPlace extends Place {
  readonly cell: Cell
}

export function placesOf(subject: Subject): readonly RowPlace[] {
  return Object.entries(CASES[subject]).flatMap(([way, cells]) =>
    (['read', 'write'] as const).flatMap((kind) => {
      const cell = cells[kind]
      return cell === undefined ? [] : [{ way, kind, cell }]
    }),
  )
}

export const rowsOf = (subject: Subject): ReadonlySet<FailureId> =>
  new Set(placesOf(subject).map(({ cell: [row] }) => row))

export interface OpenedRows {
  readonly runtime: Runtime
  readonly door: CallerDoor
  readonly rows: RowSubject
  /** Resolves when a tool is at it that something is to happen to. */
  readonly atWork: (tool: string) => Promise<unknown>
}

export interface RowsToOpen {
  readonly places: readonly Place[]
  readonly voice: Voice
  readonly open: (kit: RowKit) => Promise<RowSubject>
  readonly options?: Pick<RuntimeOptions, 'store' | 'events'>
  /** @default as soon as it was sent */
  readonly atWork?: (tool: string) => Promise<unknown>
}

export async function openRows(t: TestContext, asked: RowsToOpen): Promise<OpenedRows> {
  const { places, voice } = asked
  const tokens = await listenTokens(voice)
  t.after(() => tokens.close())
  const rows = await asked.open({ tokens, voice })
  t.after(() => rows.close())
  const world = createRowWorld()
  t.after(() => world.network.destroy())
  const runtime = await createRuntime({ ...rows.options, ...asked.options, world, onWarning: () => {} })
  t.after(() => runtime.close({ drainMs: 0 }))
  await applySecrets(runtime, voice)
  const documents = places.flatMap(({ way, kind }) => rows.documents(way, kind))
  if (documents.length > 0) await apply(runtime, documents)
  await rows.spoil?.(runtime)
  // One by one: no wildcard covers a tool whose effect nobody has declared.
  const permissions = places.map(({ way, kind }) => `tool:${rows.toolOf(way, kind)}:invoke`)
  const door = runtime.as({ actor: 'agent-a', permissions })
  return { runtime, door, rows, atWork: asked.atWork ?? (() => Promise.resolve()) }
}

export interface Ran<P extends Place = Place> {
  readonly place: P
  readonly id: string
  readonly answer: Answer
  readonly facts: readonly CallFact[]
}

interface Begun<P extends Place = Place> {
  readonly place: P
  readonly handle: CallHandle
  readonly facts: CallFact[]
}

function begin<P extends Place>({ runtime, door, rows }: OpenedRows, place: P): Begun<P> {
  const { way, kind } = place
  const requestId = randomUUID()
  const tool = rows.toolOf(way, kind)
  const input = rows.inputOf?.(way, requestId) ?? {}
  const constraints = rows.constraintsOf?.(way)
  const facts: CallFact[] = []
  const watched = (handle: CallHandle): Begun<P> => {
    handle.onFact((fact) => facts.push(fact))
    return { place, handle, facts }
  }
  if (constraints === undefined) return watched(door.start({ tool, input, requestId }))
  const body = { request_id: requestId, tool: { name: tool }, input }
  const decoded = runtime.dialects.decode(body, () => runtime.mint())
  assert.ok(decoded.ok, JSON.stringify(decoded))
  return watched(door.start({ ...decoded.call, constraints }))
}

/** Or has ended before that, as it should not. */
async function sent({ rows, atWork }: OpenedRows, { handle, place }: Begun): Promise<void> {
  const leaves = new Promise<void>((resolve) => {
    handle.onFact(({ kind }) => kind === 'attempt' && resolve())
  })
  const begins = leaves.then(() => atWork(rows.toolOf(place.way, place.kind)))
  await Promise.race([begins, handle.answer()])
}

async function ranOf<P extends Place>({ place, handle, facts }: Begun<P>): Promise<Ran<P>> {
  return { place, id: handle.id, answer: await handle.answer(), facts }
}

async function ask<P extends Place>(opened: OpenedRows, place: P): Promise<Ran<P>> {
  const begun = begin(opened, place)
  if (place.way === 'canceled') {
    await sent(opened, begun)
    begun.handle.cancel()
  }
  return ranOf(begun)
}

const isLast = ({ way }: Place) => way === 'the runtime ends'

/** All but those that end with the runtime. */
export async function runRows<P extends Place>(
  opened: OpenedRows,
  places: readonly P[],
): Promise<readonly Ran<P>[]> {
  const askAll = (some: readonly P[]) => Promise.all(some.map((place) => ask(opened, place)))
  const now = places.filter((place) => !isLast(place))
  const first = await askAll(now.filter(({ way }) => !BRIEF.has(way)))
  return [...first, ...(await askAll(now.filter(({ way }) => BRIEF.has(way))))]
}

/** What is under way when the runtime ends. */
export async function endRows<P extends Place>(
  opened: OpenedRows,
  places: readonly P[],
): Promise<readonly Ran<P>[]> {
  const begun = places.filter(isLast).map((place) => begin(opened, place))
  await Promise.all(begun.map((one) => sent(opened, one)))
  const ran = begun.map(ranOf)
  await opened.runtime.close({ drainMs: 0 })
  return Promise.all(ran)
}
