// Makes a subject of this build: a real runtime in front of a real tool peer. A composition root of its own.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Answer } from '../contract/answer.ts'
import type { DialectName } from '../contract/call.ts'
import type { EventMap, EventName, Events } from '../event/event.ts'
import { createRuntime, createWorld, type StoreChoice } from '../runtime.ts'
import type { CallerDoor, Runtime } from '../runtime-api.ts'
import type { JsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'
import type { Backend, Offer, ToolPeer } from './backend/backend.ts'
import { createEndpointBackend } from './backend/external.ts'
import { type BackendName, loadBackend } from './backend/registry.ts'
import { apply, applyAll, startRuntime } from './start-runtime.ts'
import type { CallerChoice, SecretChoice, StartedCall, Subject, SubjectEvent } from './subject.ts'
import { openTokenEndpoint } from './token-endpoint.ts'
import { createToolNames, type ToolNames } from './tool-names.ts'
import { PERMISSIONS, TOOLS } from './tools.ts'

export { SubjectRefused } from './start-runtime.ts'

/** Somebody who writes the runtime's events down for operators, as an entry point would. */
export interface LogCapture {
  /** Every line so far. */
  text(): Promise<string>
  close(): Promise<void>
}

export interface SubjectOptions {
  /** `sqlite` is made in a folder for temporary files and removed at the end. @default 'memory' */
  readonly store?: 'memory' | 'sqlite'
  /** Bounds one send to the tool, from 500 to 10000. @default 2000 */
  readonly timeoutMs?: number
  /** Hears the events and keeps the lines; without it the events themselves are all there is to look at. */
  readonly captureLog?: (events: Events) => LogCapture
}

const TIMEOUT_MS = 2_000
/** Below this the cases that wait on purpose would be cut short; above it a run could take for ever. */
export const TIMEOUT_BOUNDS = Object.freeze({ min: 500, max: 10_000 })
const ACTOR = 'conformance-agent'

export async function createSubject(name: BackendName, options: SubjectOptions = {}): Promise<Subject> {
  return openSubject(await loadBackend(name), options)
}

/** Writ's runtime in front of a service of type external that somebody runs at this address (S54). */
export function createEndpointSubject(endpoint: string, options: SubjectOptions = {}): Promise<Subject> {
  return openSubject(createEndpointBackend(endpoint), options)
}

async function openSubject(backend: Backend, options: SubjectOptions): Promise<Subject> {
  const { timeoutMs = TIMEOUT_MS } = options
  if (!(timeoutMs >= TIMEOUT_BOUNDS.min && timeoutMs <= TIMEOUT_BOUNDS.max)) {
    throw new RangeError(`timeoutMs must be from ${TIMEOUT_BOUNDS.min} to ${TIMEOUT_BOUNDS.max}`)
  }
  const world = createWorld()
  const opened: (() => Promise<void>)[] = [() => world.network.close()]
  const close = async () => {
    for (const one of opened.splice(0).reverse()) await one()
  }
  try {
    const peer = await backend.openPeer({ world })
    opened.push(() => peer.close())
    if (backend.presents !== 'profiles') return await openLife(backend, peer, world, options, close)
    const tokens = await openTokenEndpoint()
    opened.push(() => tokens.close())
    const tokenURL = `${tokens.origin}/token`
    return await openLife(backend, { ...peer, tokenURL }, world, options, close)
  } catch (error) {
    await close()
    throw error
  }
}

/** One life of the runtime in front of the peer. */
async function openLife(
  backend: Backend,
  peer: ToolPeer & { readonly tokenURL?: string },
  world: World,
  options: SubjectOptions,
  closePeer: () => Promise<void>,
): Promise<Subject> {
  const { folder, store } = await makeStore(options.store ?? 'memory')
  const names = createToolNames(peer.served)
  const lives: Subject[] = []
  let runtime: Runtime
  try {
    runtime = await startRuntime({
      world,
      peer,
      store,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      presents: backend.presents,
      ...(peer.tokenURL === undefined ? {} : { tokenURL: peer.tokenURL }),
    })
  } catch (error) {
    await removeFolder(folder)
    throw error
  }
  const events: SubjectEvent[] = []
  const stops = EVENT_NAMES.map((name) =>
    runtime.events.on(name, (event) => void events.push({ name, event } as SubjectEvent)),
  )
  const log = options.captureLog?.(runtime.events)

  return {
    name: backend.name,
    limitations: backend.limitations,
    isolation: backend.isolation,
    hasEndpoint: backend.hasEndpoint,
    givesStatus: backend.givesStatus,
    presents: backend.presents,
    ...(backend.defaultHeader === undefined ? {} : { defaultHeader: backend.defaultHeader }),
    world,
    mint: runtime.mint,
    start: (request, as) => start(runtime, names.request(request), doorOf(runtime, as, names)),
    declare: (tool) => declare(runtime, peer.offer(tool)),

    putSecret: (secret) => applyAll(runtime, [secretManifest(secret)]),

    declared(tool) {
      const called = names.tool(TOOLS[tool].name)
      const found = runtime.tools('default').find(({ name }) => name === called)
      return found && { capabilities: found.capabilities, riskLevel: found.riskLevel }
    },

    events: () => [...events],
    said: async () => [...events.map((one) => JSON.stringify(one)), (await log?.text()) ?? ''].join('\n'),
    sends: peer.sends,

    async reborn() {
      const life = await openLife(backend, peer, world, options, async () => {})
      lives.push(life)
      return life
    },

    async close() {
      for (const life of lives.splice(0)) await life.close()
      for (const stop of stops.splice(0)) stop()
      await runtime.close({ drainMs: 0 })
      await log?.close()
      await removeFolder(folder)
      await closePeer()
    },
  }
}

const EVENT_NAMES = Object.keys({
  'call:started': true,
  'call:ended': true,
  'attempt:failed': true,
  'entry:unknown': true,
  'tool:crashed': true,
  'secret:failed': true,
  'call:faulted': true,
  'recovery:ended': true,
  'tool:applied': true,
  'tool:quarantined': true,
  'mcp:synced': true,
  'timer:failed': true,
  'approval:requested': true,
  'approval:decided': true,
  'notify:failed': true,
  'entry:settled': true,
  'life:ended': true,
  'audit:failed': true,
  'audit:rewound': true,
  'store:away': true,
  'store:back': true,
  'store:failed': true,
} satisfies Record<keyof EventMap, true>) as readonly EventName[]

async function makeStore(
  kind: 'memory' | 'sqlite',
): Promise<{ readonly folder?: string; readonly store: StoreChoice }> {
  if (kind === 'memory') return { store: { kind } }
  const folder = await mkdtemp(join(tmpdir(), 'writ-conformance-'))
  return { folder, store: { kind, path: join(folder, 'writ.db') } }
}

async function removeFolder(folder: string | undefined): Promise<void> {
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
}

function secretManifest({ name, namespace, values, shareWith = [] }: SecretChoice): JsonObject {
  return {
    apiVersion: 'writ.dev/v1',
    kind: 'Secret',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec: { stringData: values, share_with: shareWith },
  }
}

async function declare(runtime: Runtime, offer: Offer): Promise<readonly string[]> {
  if (offer.kind === 'manifest') return apply(runtime, [offer.manifest], true)
  try {
    const other = await createRuntime({ tools: [offer.definition], onWarning: () => {} })
    await other.close({ drainMs: 0 })
    return []
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
}

function doorOf(runtime: Runtime, as: CallerChoice | undefined, names: ToolNames): CallerDoor {
  const without = as?.without ?? []
  const permissions =
    without === 'everything' ? [] : PERMISSIONS.filter((permission) => !without.includes(permission))
  return runtime.as({ actor: ACTOR, permissions: permissions.map(names.permission) })
}

function start(runtime: Runtime, request: JsonObject, door: CallerDoor): StartedCall {
  // As it would come from the wire: nothing of the case's own object reaches the runtime.
  const decoded = runtime.dialects.decode(JSON.parse(JSON.stringify(request)), runtime.mint)
  if (!decoded.ok) {
    const answer = door.reject(decoded.call, decoded.failure)
    return {
      answer: async () => encode(runtime, decoded.call.dialect, answer),
      cancel() {},
      sending: async () => {},
    }
  }
  const handle = door.start(decoded.call)
  const answer = handle.answer()
  const sending = new Promise<void>((resolve) => {
    handle.onFact(({ kind }) => {
      if (kind === 'attempt') resolve()
    })
    void answer.then(() => resolve())
  })
  return {
    answer: async () => encode(runtime, decoded.call.dialect, await answer),
    cancel: () => handle.cancel(),
    sending: () => sending,
  }
}

function encode(runtime: Runtime, dialect: DialectName, answer: Answer): JsonObject {
  return JSON.parse(JSON.stringify(runtime.dialects.get(dialect).encode(answer)))
}
