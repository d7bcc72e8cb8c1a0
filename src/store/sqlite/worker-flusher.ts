// Flushes in a worker thread: one message carries a batch there, one brings its results back.
import { Worker } from 'node:worker_threads'
import { Fenced } from '../store.ts'
import type { Batch, EncodedResult } from './codec.ts'
import type { Flusher } from './flusher.ts'

export type WorkerReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'flushed'; readonly results: readonly EncodedResult[] }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'fenced'; readonly message: string }

export interface WorkerFlusherOptions {
  /** The database file; made when it is not there. */
  readonly path: string
  /** Called when the thread ends without having been asked to. */
  readonly onDied: (error: Error) => void
}

export async function createWorkerFlusher(options: WorkerFlusherOptions): Promise<Flusher> {
  const worker = new Worker(workerFile(), {
    workerData: { path: options.path },
    // Whether to warn about `node:sqlite` is the main thread's affair; it has loaded it too.
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  /** Who waits for the next reply; one batch is under way at a time. */
  let waiting: PromiseWithResolvers<WorkerReply> | undefined
  let died: Error | undefined
  let closing = false

  function next(): Promise<WorkerReply> {
    if (died !== undefined) return Promise.reject(died)
    waiting = Promise.withResolvers<WorkerReply>()
    return waiting.promise
  }

  function end(error: Error): void {
    if (died !== undefined) return
    died = error
    waiting?.reject(error)
    if (!closing) options.onDied(error)
  }

  worker.on('message', (message: WorkerReply) => {
    const one = waiting
    waiting = undefined
    one?.resolve(message)
  })
  worker.on('error', (error: unknown) => end(error instanceof Error ? error : new Error(String(error))))
  const exited = new Promise<void>((resolve) => {
    worker.on('exit', (code) => {
      end(new Error(`the SQLite writer's thread ended with code ${code}`))
      resolve()
    })
  })

  const opened = await next()
  if (opened.kind === 'failed') {
    closing = true
    await exited
    throw opened.error
  }
  // An idle store does not keep a program alive; a batch under way does.
  worker.unref()

  return {
    async flush(batch: Batch) {
      const reply = next()
      worker.ref()
      worker.postMessage(batch)
      const message = await reply
      worker.unref()
      if (message.kind === 'flushed') return message.results
      if (message.kind === 'fenced') throw new Fenced(message.message)
      throw message.kind === 'failed' ? message.error : new Error('the SQLite writer answered out of turn')
    },
    async close() {
      closing = true
      worker.ref()
      if (died === undefined) worker.postMessage('close')
      await exited
    },
  }
}

/** Beside this file, under the name this file has: `.ts` from source, `.js` when built. */
function workerFile(): URL {
  return new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)
}
