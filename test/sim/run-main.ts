// Runs the simulator in a process of its own, as `npm run sim` does.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export function runMain(args: readonly string[]): Promise<Ran> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...args], {
    // Coverage of a child belongs to nobody, and costs a third of its time. Left out, Node would hand it on all the same.
    env: { ...process.env, NODE_V8_COVERAGE: '' },
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (part: Buffer) => {
    stdout += part
  })
  child.stderr.on('data', (part: Buffer) => {
    stderr += part
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}
