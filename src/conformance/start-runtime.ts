// Starts a runtime in which the tools of the suite are declared, and can be called.
import { formatProblem } from '../resource/manifest.ts'
import { createRuntime, type StoreChoice } from '../runtime.ts'
import type { Runtime } from '../runtime-api.ts'
import type { JsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'
import type { ServedTools, ToolPeer } from './backend/backend.ts'
import { LATE, within } from './pace.ts'
import type { Presents } from './subject.ts'
import { BOXED_TOOL, type Declaration, isDeclared, TOOLS } from './tools.ts'

export interface StartOptions {
  readonly world: Pick<World, 'clock' | 'after'>
  readonly peer: ToolPeer
  readonly store: StoreChoice
  readonly timeoutMs: number
  readonly presents: Presents
  /** Of our own token endpoint, where there is one. */
  readonly tokenURL?: string
}

/** For servers to be reached and to list what they have; on a busy machine a program takes a while to start. */
const LIST_MS = 30_000

/** The tools of the suite cannot be declared: the address is not one that a tool may have. */
export class SubjectRefused extends Error {
  override readonly name = 'SubjectRefused'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(`the tools of the suite were refused: ${problems[0] ?? ''}`)
    this.problems = problems
  }
}

export async function startRuntime(options: StartOptions): Promise<Runtime> {
  const { world, peer, store, timeoutMs, presents, tokenURL } = options
  const tools = Object.values(TOOLS)
    .filter((tool) => isDeclared(tool, presents))
    .map((tool) => withTokenURL(withTimeout(tool, timeoutMs), tokenURL))
  const offers = peer.served === undefined ? tools.map(peer.offer) : []
  const runtime = await createRuntime({
    store,
    tools: offers.flatMap((offer) => (offer.kind === 'native' ? [offer.definition] : [])),
    cliAllow: peer.cliAllow ?? [],
    // Some of them declare on purpose what apply warns of.
    onWarning: () => {},
  })
  try {
    const manifests = offers.flatMap((offer) => (offer.kind === 'manifest' ? [offer.manifest] : []))
    await applyAll(runtime, [...manifests, BOXED_TOOL.manifest])
    if (peer.served !== undefined) await declareServed(runtime, world, peer.served, tools)
    return runtime
  } catch (error) {
    await runtime.close({ drainMs: 0 })
    throw error
  }
}

function withTimeout(tool: Declaration, timeoutMs: number): Declaration {
  const runtime = { ...tool.spec.runtime, timeout: `${timeoutMs}ms` }
  return { ...tool, spec: { ...tool.spec, runtime } }
}

function withTokenURL(tool: Declaration, tokenURL: string | undefined): Declaration {
  const { auth } = tool.spec
  if (tokenURL === undefined || auth?.tokenURL === undefined) return tool
  return { ...tool, spec: { ...tool.spec, auth: { ...auth, tokenURL } } }
}

async function declareServed(
  runtime: Runtime,
  world: StartOptions['world'],
  served: ServedTools,
  tools: readonly Declaration[],
): Promise<void> {
  const { untilListed, onceListed } = served.servers(tools)
  const wanted = tools.map((tool) => served.called(tool).name)
  const missing = () => {
    const there = new Set(runtime.tools('default').map(({ name }) => name))
    return wanted.filter((name) => !there.has(name))
  }
  let stop = () => {}
  const listed = new Promise<void>((resolve) => {
    stop = runtime.events.on('mcp:synced', () => {
      if (missing().length === 0) resolve()
    })
  })
  try {
    await applyAll(runtime, untilListed)
    if ((await within(world, LIST_MS, listed)) === LATE)
      throw new SubjectRefused(missing().map((name) => `no server has listed ${name} in time`))
  } finally {
    stop()
  }
  await applyAll(runtime, onceListed)
}

export async function applyAll(runtime: Runtime, manifests: readonly JsonObject[]): Promise<void> {
  const problems = await apply(runtime, manifests, false)
  if (problems.length > 0) throw new SubjectRefused(problems)
}

/** What is wrong with them; nothing was declared then. */
export async function apply(
  runtime: Runtime,
  manifests: readonly JsonObject[],
  dryRun: boolean,
): Promise<readonly string[]> {
  const sources = manifests.map((manifest, index) => ({
    text: JSON.stringify(manifest),
    file: `conformance-${index + 1}.json`,
  }))
  const outcome = await runtime.resources.apply(sources, { dryRun })
  if (outcome.ok) return []
  return outcome.problems.filter(({ severity }) => severity === 'error').map(formatProblem)
}
