// What one flush to this disk costs: every durable number beside it depends on it.
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export function fdatasyncP50Us(folder: string): number {
  const file = openSync(join(folder, 'fdatasync'), 'w')
  const times: number[] = []
  const block = Buffer.alloc(4096, 1)
  for (let index = 0; index < 200; index++) {
    writeSync(file, block)
    const from = performance.now()
    fdatasyncSync(file)
    times.push(performance.now() - from)
  }
  closeSync(file)
  times.sort((a, b) => a - b)
  return (times[100] ?? 0) * 1000
}
