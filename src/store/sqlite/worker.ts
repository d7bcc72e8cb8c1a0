// The writer's thread: owns the one writing connection, so that no fsync ever holds up the event loop.
import { parentPort, workerData } from 'node:worker_threads'
import { Fenced } from '../store.ts'
import type { Batch } from './codec.ts'
import { createEngine } from './engine.ts'
import { openForWriting } from './open-database.ts'
import type { WorkerReply } from './worker-flusher.ts'

const port = parentPort
if (port === null) throw new Error('this file is the SQLite writer, it runs in a worker thread')
const reply = (message: WorkerReply) => port.postMessage(message)

try {
  const db = openForWriting((workerData as { path: string }).path)
  const engine = createEngine(db)
  port.on('message', (message: Batch | 'close') => {
    if (message === 'close') {
      // The last connection to close moves the log into the database file.
      db.close()
      port.close()
      return
    }
    try {
      reply({ kind: 'flushed', results: engine.apply(message) })
    } catch (error) {
      // Crossing to the other thread, an error loses its class.
      reply(error instanceof Fenced ? { kind: 'fenced', message: error.message } : { kind: 'failed', error })
    }
  })
  reply({ kind: 'ready' })
} catch (error) {
  reply({ kind: 'failed', error })
  port.close()
}
