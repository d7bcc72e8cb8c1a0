// The tour of `writ up --examples`: example tools and three commands to try, loaded only when asked for.
import { existsSync } from 'node:fs'
import type { Runtime } from '../runtime-api.ts'
import { CliError, EXIT } from './cli-error.ts'

/** What examples/tour.ts gives back. */
export interface Tour {
  /** To be printed, for people to try. */
  readonly commands: readonly string[]
  stop(): Promise<void>
}

interface TourModule {
  /** Applies the example tools to the runtime and starts what they talk to. */
  startTour(runtime: Runtime): Promise<Tour>
}

export async function startExamples(runtime: Runtime): Promise<Tour> {
  const url = new URL('../../examples/tour.ts', import.meta.url)
  if (!existsSync(url)) {
    throw new CliError('the examples are not part of this installation', {
      exit: EXIT.startFailed,
      fix: 'start without --examples, or run from a checkout of the sources',
    })
  }
  const tour: TourModule = await import(url.href)
  return tour.startTour(runtime)
}
