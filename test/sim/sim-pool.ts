// Processes that run seeds: on all cores, without the cost of coverage, and each for many jobs, so that loading the
// product and warming it up is paid for once. A job that fails, or takes too long, takes its process with it.
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { SeedLine } from './seed-line.ts'

const WORKER = fileURLToPath(new URL('sim-worker.ts', import.meta.url))
/** What a mutation loaded is never let go of: so many are held by one process at most. */
const JOBS = 30

export interface SimJob {
  /** The name of the rule that is taken out. */
  readonly mutation?: string
  readonly start: number
  readonly seeds: number
}

export type SimDone = { readonly lines: readonly SeedLine[] } | { readonly error: string }

export interface SimPool {
  /** One line for each seed, up to the first that breaks an invariant. As many processes as there are jobs at a time. */
  run(job: SimJob, timeoutMs: number): Promise<readonly SeedLine[]>
  close(): void
}

interface Worker {
  readonly child: ChildProcess
  jobs: number
}

export function createSimPool(): SimPool {
  const idle: Worker[] = []
  const all = new Set<ChildProcess>()

  const start = (): Worker => {
    const child = fork(WORKER, {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      // Coverage of a child belongs to nobody, and costs a third of its time. Left out, Node would hand it on all the same.
      env: { ...process.env, NODE_V8_COVERAGE: '' },
    })
    all.add(child)
    child.once('exit', () => all.delete(child))
    return { child, jobs: 0 }
  }

  return {
    async run(job, timeoutMs) {
      const worker = idle.pop() ?? start()
      worker.jobs++
      try {
        const done = await ask(worker.child, job, timeoutMs)
        if ('error' in done) throw new Error(done.error)
        if (worker.jobs < JOBS) idle.push(worker)
        else worker.child.kill('SIGKILL')
        return done.lines
      } catch (error) {
        worker.child.kill('SIGKILL')
        throw error
      }
    },
    close() {
      for (const child of all) child.kill('SIGKILL')
    },
  }
}

function ask(child: ChildProcess, job: SimJob, timeoutMs: number): Promise<SimDone> {
  const { promise, resolve, reject } = Promise.withResolvers<SimDone>()
  const onExit = (code: number | null, signal: string | null) =>
    reject(new Error(`the process of the simulator ended with ${signal ?? code}`))
  const late = setTimeout(
    () => reject(new Error(`${JSON.stringify(job)} took over ${timeoutMs} ms`)),
    timeoutMs,
  )
  child.once('message', resolve).once('error', reject).once('exit', onExit)
  child.send(job)
  return promise.finally(() => {
    clearTimeout(late)
    child.off('message', resolve).off('error', reject).off('exit', onExit)
  })
}
