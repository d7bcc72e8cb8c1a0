// The tour of `writ up --examples`: example tools and three commands to try, loaded only when asked for.
import { existsSync } from 'node:fs'
import { formatProblem } from '../resource/manifest.ts'
import type { Runtime } from '../runtime-api.ts'
import { codeOf } from '../util/error-code.ts'
import { CliError, EXIT } from './cli-error.ts'
import { sortProblems } from './manifest-problems.ts'

/** What examples/tour.ts gives back: the services of the example tools run until it is stopped. */
export interface Tour {
  /** The example tools. */
  readonly manifests: readonly { readonly file: string; readonly text: Uint8Array }[]
  /** To be printed, for people to try. */
  readonly commands: readonly string[]
  stop(): Promise<void>
}

interface TourModule {
  /** Starts what the tools talk to, or leaves nothing behind. */
  startTour(): Promise<Tour>
}

export async function startExamples(runtime: Runtime): Promise<Tour> {
  const url = new URL('../../examples/tour.ts', import.meta.url)
  if (!existsSync(url)) {
    throw new CliError('the examples are not part of this installation', {
      exit: EXIT.startFailed,
      fix: 'start without --examples, or run from a checkout of the sources',
    })
  }
  const { startTour }: TourModule = await import(url.href)
  const tour = await startTour().catch((error: unknown) => {
    throw portInUse(error) ?? error
  })
  try {
    await applyManifests(runtime, tour)
  } catch (error) {
    await tour.stop()
    throw error
  }
  return tour
}

async function applyManifests(runtime: Runtime, { manifests }: Tour): Promise<void> {
  const { ok, problems } = await runtime.resources.apply(manifests)
  if (ok) return
  const errors = sortProblems(problems).filter(({ severity }) => severity === 'error')
  throw new CliError('the example tools are refused here', {
    exit: EXIT.startFailed,
    lines: errors.map(formatProblem),
    fix: 'start without --examples; they are meant for profile local and an empty data folder',
  })
}

/** The address of a tool belongs to its version, so the services cannot move to another port. */
function portInUse(error: unknown): CliError | undefined {
  if (codeOf(error) !== 'EADDRINUSE') return undefined
  const { port } = error as { readonly port?: number }
  return new CliError(`port ${port} is in use, and an example tool needs it`, {
    exit: EXIT.startFailed,
    fix: "stop what listens there, such as another 'writ up --examples', or start without --examples",
  })
}
